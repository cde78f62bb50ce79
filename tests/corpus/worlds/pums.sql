CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE PUMS AS
SELECT i AS pid, 18 + pick(i, 11) % 73 AS age, pick(i, 12) % 2 AS sex, 1 + pick(i, 13) % 16 AS educ, 1 + pick(i, 14) % 6 AS race,
  CASE WHEN i % 17 = 0 THEN NULL ELSE CAST(pick(i, 15) % 1000 * 200 AS DOUBLE) END AS income, pick(i, 16) % 5 < 2 AS married
FROM range(1, 1201) t(i);
CREATE TABLE PUMS_dup AS
SELECT 1 + pick(i, 1) % 700 AS pid, 18 + pick(i, 2) % 73 AS age, pick(i, 3) % 2 AS sex, 1 + pick(i, 4) % 16 AS educ, 1 + pick(i, 5) % 6 AS race,
  CASE WHEN i % 23 = 0 THEN NULL ELSE CAST(pick(i, 6) % 900 * 250 AS DOUBLE) END AS income, pick(i, 7) % 3 <> 0 AS married
FROM range(1500) t(i);
