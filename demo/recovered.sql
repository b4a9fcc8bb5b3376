SELECT state, base, tables_loaded, rows_loaded, changes_loaded FROM tsurugi.durability;
