-- Anything that does not add up is a division by zero.
BEGIN ISOLATION LEVEL :level;
SELECT 1 / coalesce((sum(balance) = 5000000)::int, 0) FROM account;
SELECT 1 / coalesce(((SELECT sum(balance) FROM ordinary) = (SELECT sum(balance) FROM account))::int, 0);
SELECT 1 / (count(*) = 0)::int FROM account JOIN ordinary USING (id) WHERE account.balance <> ordinary.balance;
SELECT 1 / (coalesce(sum(delta), 0) = 0)::int FROM movement;
COMMIT;
