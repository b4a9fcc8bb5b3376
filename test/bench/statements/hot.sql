UPDATE branch SET balance = balance + 1 WHERE bid = 1;
