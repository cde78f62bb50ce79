-- 600 patients; patients 580 and above never came. Patient i has 1 to 6 visits.
CREATE TABLE patients AS
SELECT
    i AS patient_id,
    CASE WHEN (i * 7) % 11 < 6 THEN 'F' ELSE 'M' END AS sex,
    1930 + (i * 37) % 80 AS birth_year,
    CASE (i * 5) % 9 WHEN 0 THEN NULL WHEN 1 THEN 'Aarhus' WHEN 2 THEN 'Aarhus' WHEN 3 THEN 'Bergen' WHEN 4 THEN 'Bergen'
        WHEN 5 THEN 'Bergen' WHEN 6 THEN 'Cork' WHEN 7 THEN 'Cork' ELSE 'Delft' END AS city,
    CASE WHEN i % 13 = 0 THEN NULL ELSE i % 4 = 1 END AS smoker,
    DATE '2015-01-01' + CAST((i * 53) % 3200 AS INTEGER) AS registered,
    CASE WHEN i % 17 = 3 THEN NULL ELSE 45 + (i * 29) % 700 / 10.0::DOUBLE END AS weight,
    CASE (i * 3) % 7 WHEN 0 THEN 'gold' WHEN 1 THEN 'gold' WHEN 2 THEN 'silver' ELSE 'basic' END AS plan
FROM generate_series(1, 600) AS s(i);

CREATE TABLE visits AS
SELECT
    row_number() OVER (ORDER BY i, j) AS visit_id,
    i AS patient_id,
    CASE (i * 3 + j * 5) % 9 WHEN 0 THEN 'A' WHEN 1 THEN 'A' WHEN 2 THEN 'A' WHEN 3 THEN 'B' WHEN 4 THEN 'B' WHEN 5 THEN 'C'
        WHEN 6 THEN 'C' WHEN 7 THEN 'D' ELSE 'A' END AS ward,
    DATE '2022-01-01' + CAST((i * 31 + j * 97) % 1090 AS INTEGER) AS day,
    TIMESTAMP '2022-01-01 00:00:00' + ((i * 31 + j * 97) % 1090) * INTERVAL 1 DAY + ((i * 7 + j * 3) % 24) * INTERVAL 1 HOUR
        + ((i * 11) % 60) * INTERVAL 1 MINUTE AS arrived,
    CASE WHEN (i + j) % 10 = 0 THEN NULL ELSE DATE '2022-01-01' + CAST((i * 31 + j * 97) % 1090 + (i + 2 * j) % 12 AS INTEGER) END
        AS left_on,
    CASE WHEN (i * j) % 19 = 5 THEN NULL ELSE ((i * 113 + j * 271) % 3600) / 4.0::DOUBLE END AS cost,
    (i + 2 * j) % 12 AS nights,
    (i + j) % 3 = 0 AS urgent,
    CASE (i * 13 + j * 7) % 8 WHEN 0 THEN 'flu' WHEN 1 THEN 'flu' WHEN 2 THEN 'cold' WHEN 3 THEN 'Fracture' WHEN 4 THEN 'migraine'
        WHEN 5 THEN 'Flu (type B)' WHEN 6 THEN NULL ELSE 'cold' END AS diagnosis
FROM generate_series(1, 579) AS p(i), generate_series(1, 6) AS v(j)
WHERE j <= 1 + (i * 7) % 6;

CREATE TABLE prescriptions AS
SELECT
    visit_id,
    1 + (visit_id * 7 + k * 3) % 10 AS drug_id,
    ((visit_id * 17 + k * 5) % 100) / 2.0::DOUBLE AS dose,
    1 + (visit_id * 3 + k * 11) % 45 AS days
FROM visits, generate_series(1, 3) AS g(k)
WHERE k <= visit_id % 4;

CREATE TABLE wards AS
SELECT * FROM (VALUES ('A', 'Accidents', 0, 40), ('B', 'Births', 2, 25), ('C', 'Children', 2, 30), ('D', 'Dental', 1, NULL),
    ('E', 'Eyes', 3, 12)) AS t(ward, title, floor, beds);

CREATE TABLE drugs AS
SELECT
    i AS drug_id,
    'drug ' || chr(CAST(96 + i AS INTEGER)) AS drug,
    CASE i % 3 WHEN 0 THEN 'antibiotic' WHEN 1 THEN 'opioid' ELSE 'statin' END AS family,
    (i * 7 % 12) * 2.5::DOUBLE AS price
FROM generate_series(1, 12) AS s(i);

-- Bills say whose they are, and which visit they are for; every third visit has none, every seventh has two.
CREATE TABLE bills AS
SELECT
    row_number() OVER (ORDER BY visit_id, k) AS bill_id,
    visit_id,
    patient_id,
    (visit_id * 37 + k * 11) % 500 AS amount,
    CASE WHEN (visit_id + k) % 4 = 0 THEN 0 ELSE 1 END AS paid,
    CAST(1 + (visit_id * k) % 3 AS VARCHAR) AS code
FROM visits, generate_series(1, 2) AS g(k)
WHERE visit_id % 3 <> 0 AND (k = 1 OR visit_id % 7 = 0);

-- Readings have no declared bounds: most lie between -20 and 120, and some are NULL.
CREATE TABLE readings AS
SELECT
    i AS patient_id,
    CASE (i + j) % 4 WHEN 0 THEN 'iron' WHEN 1 THEN 'sodium' ELSE 'glucose' END AS test,
    CASE WHEN (i * j) % 23 = 7 THEN NULL ELSE ((i * 31 + j * 17) % 560) / 4.0::DOUBLE - 20 END AS value,
    CASE WHEN (i + j) % 29 = 0 THEN NULL ELSE (i * 13 + j * 29) % 150 - 25 END AS score
FROM generate_series(1, 500) AS p(i), generate_series(1, 4) AS r(j)
WHERE j <= 1 + i % 4;
