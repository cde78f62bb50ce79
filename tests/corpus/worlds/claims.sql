CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE patients AS
SELECT i AS patient_id, 18 + pick(i, 1) % 70 AS age, ['CA', 'NY', 'TX', 'WA'][1 + pick(i, 2) % 4] AS state,
  ['basic', 'premium', 'vip'][1 + pick(i, 3) % 3] AS plan, CASE WHEN i % 19 = 0 THEN NULL ELSE 140 + pick(i, 4) % 60 END AS height_cm
FROM range(1, 701) t(i);
CREATE TABLE claims AS
SELECT i AS claim_id, 1 + pick(i, 5) % 650 AS patient_id, DATE '2024-01-01' + CAST(pick(i, 6) % 366 AS INTEGER) AS claim_date,
  ['dental', 'vision', 'hospital', 'pharmacy'][1 + pick(i, 7) % 4] AS category, CAST(10 + pick(i, 8) % 1990 AS DOUBLE) AS amount,
  pick(i, 9) % 5 = 0 AS denied
FROM range(1, 2401) t(i);
CREATE TABLE states AS SELECT * FROM (VALUES ('CA', 'West'), ('WA', 'West'), ('NY', 'East'), ('TX', 'South'), ('ME', 'East')) t(state, region);
