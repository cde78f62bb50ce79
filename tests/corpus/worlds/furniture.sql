CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE users AS
SELECT i AS id, 'user' || i AS name, 18 + pick(i, 1) % 60 AS age, ['Paris', 'Lyon', 'Lille', 'Nice'][1 + pick(i, 2) % 4] AS city,
  CASE WHEN i % 11 = 0 THEN NULL ELSE CAST(1000 + pick(i, 3) % 4000 AS DOUBLE) END AS income
FROM range(1, 501) t(i);
CREATE TABLE orders AS
SELECT i AS order_id, 1 + pick(i, 4) % 450 AS user_id, DATE '2023-01-01' + CAST(pick(i, 5) % 365 AS INTEGER) AS date,
  ['open', 'sent', 'paid', 'returned'][1 + pick(i, 6) % 4] AS status
FROM range(1, 1801) t(i);
CREATE TABLE items AS
SELECT 1 + pick(i, 7) % 1800 AS order_id, ['table', 'chair', 'lamp', 'sofa', 'shelf'][1 + pick(i, 8) % 5] AS item,
  CAST(5 + pick(i, 9) % 400 AS DOUBLE) / 2 AS price, 1 + pick(i, 10) % 5 AS quantity
FROM range(5000) t(i);
CREATE TABLE measurements AS
SELECT 1 + pick(i, 11) % 300 AS a, CAST(pick(i, 12) % 101 AS DOUBLE) / 10 AS x, CAST(pick(i, 13) % 101 AS DOUBLE) / 10 - 5 AS y,
  ['red', 'green', 'blue'][1 + pick(i, 14) % 3] AS z, pick(i, 15) % 8 AS d
FROM range(1200) t(i);
CREATE TABLE catalogue AS
SELECT * FROM (VALUES ('table', 'furniture', 50.0), ('chair', 'furniture', 25.0), ('lamp', 'light', 10.0), ('sofa', 'furniture', 150.0), ('shelf', 'storage', 30.0), ('rug', 'textile', 40.0)) t(item, category, weight);
