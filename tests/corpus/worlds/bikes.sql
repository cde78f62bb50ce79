-- 400 riders with 0 to 8 trips each; a trip without a place to end at is one that has not been closed.
CREATE TABLE riders AS
SELECT
    'r' || lpad(CAST(i AS VARCHAR), 4, '0') AS rider_id,
    CASE WHEN i % 19 = 0 THEN NULL ELSE DATE '1942-03-05' + CAST((i * 613) % 24000 AS INTEGER) END AS born,
    (i * 7) % 5 < 2 AS member,
    CASE i % 6 WHEN 0 THEN 'day' WHEN 1 THEN 'year' WHEN 2 THEN 'year' ELSE 'month' END AS tariff
FROM generate_series(1, 400) AS s(i);

CREATE TABLE trips AS
SELECT
    i * 10 + j AS trip_id,
    'r' || lpad(CAST(i AS VARCHAR), 4, '0') AS rider_id,
    TIMESTAMP '2023-01-01 05:00:00' + ((i * 37 + j * 53) % 364) * INTERVAL 1 DAY + ((i * 5 + j * 7) % 18) * INTERVAL 1 HOUR AS started,
    CASE WHEN (i + j) % 25 = 0 THEN NULL ELSE TIMESTAMP '2023-01-01 05:00:00' + ((i * 37 + j * 53) % 364) * INTERVAL 1 DAY
        + ((i * 5 + j * 7) % 18) * INTERVAL 1 HOUR + (4 + (i * 3 + j * 11) % 90) * INTERVAL 1 MINUTE END AS ended,
    1 + (i * 3 + j) % 11 AS from_station,
    CASE WHEN (i + j) % 25 = 0 THEN NULL ELSE 1 + (i + j * 5) % 11 END AS to_station,
    CASE WHEN (i * j) % 31 = 3 THEN NULL ELSE ((i * 43 + j * 71) % 240) / 10.0::DOUBLE END AS km,
    ((i * 97 + j * 31) % 1500) / 100.0::DOUBLE AS price
FROM generate_series(1, 400) AS r(i), generate_series(1, 8) AS t(j)
WHERE j <= (i * 5) % 9;

CREATE TABLE stations AS
SELECT
    i AS station_id,
    'Station ' || chr(CAST(64 + i AS INTEGER)) AS name,
    CASE i % 3 WHEN 0 THEN 'east' WHEN 1 THEN 'north' ELSE 'west' END AS district,
    CASE WHEN i = 7 THEN NULL ELSE 10 + (i * 7) % 40 END AS docks,
    DATE '2012-05-01' + CAST(i * 200 AS INTEGER) AS opened
FROM generate_series(1, 12) AS s(i);
