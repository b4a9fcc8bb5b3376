SELECT v FROM named WHERE name = :name;
