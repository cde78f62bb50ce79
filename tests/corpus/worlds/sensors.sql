CREATE TABLE indoor AS
SELECT
    CASE i % 5 WHEN 0 THEN 'co2' WHEN 1 THEN 'co2' WHEN 2 THEN 'noise' ELSE 'heat' END AS kind,
    CASE WHEN i % 23 = 0 THEN NULL ELSE 10 + (i * 7) % 400 / 10.0::DOUBLE END AS level,
    TIMESTAMP '2024-01-01 00:00:00' + (i * 13) % 8700 * INTERVAL 1 HOUR AS at
FROM generate_series(1, 900) AS s(i);

CREATE TABLE outdoor AS
SELECT
    CASE i % 4 WHEN 0 THEN 'heat' WHEN 1 THEN 'heat' WHEN 2 THEN 'noise' ELSE 'co2' END AS kind,
    CASE WHEN i % 31 = 0 THEN NULL ELSE (i * 11) % 500 / 10.0::DOUBLE - 10 END AS level,
    TIMESTAMP '2024-01-01 00:00:00' + (i * 17) % 8700 * INTERVAL 1 HOUR AS at
FROM generate_series(1, 700) AS s(i);
