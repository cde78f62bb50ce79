CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE professors AS
SELECT p AS id, ['pencil', 'pen', 'scissors', 'notebook', 'stapler'][1 + k] AS item, 1 + pick(p, k) % 40 AS quantity
FROM range(1, 301) t(p), range(5) s(k) WHERE pick(p, k + 40) % 5 < 3;
CREATE TABLE students AS
SELECT p AS id, ['pencil', 'pen', 'eraser', 'notebook'][1 + k] AS item, 1 + pick(p, k + 20) % 25 AS quantity
FROM range(301, 701) t(p), range(4) s(k) WHERE pick(p, k + 60) % 4 < 2;
CREATE TABLE purchases AS
SELECT 1 + pick(i, 1) % 250 AS user_id, ['A', 'B', 'C'][1 + pick(i, 2) % 3] AS shop, CAST(pick(i, 3) % 300 - 20 AS DOUBLE) AS amount,
  TIMESTAMP '2024-05-01 08:00:00' + INTERVAL 1 MINUTE * (pick(i, 4) % 40000) AS bought_at
FROM range(1500) t(i);
