CREATE MACRO pick(i, k) AS (i * i * 7919 + i * 104729 + k * 1299709 + 17) % 1000003 // 7;
CREATE TABLE hits AS
SELECT i * 7919 + 5000000000 AS WatchID, 435090932899000000 + u * 1013 AS UserID, TIMESTAMP '2013-07-01 00:00:00' + INTERVAL 1 SECOND * (pick(i, 2) * 17 % 2678400) AS EventTime,
  CAST(TIMESTAMP '2013-07-01 00:00:00' + INTERVAL 1 SECOND * (pick(i, 2) * 17 % 2678400) AS DATE) AS EventDate,
  [62, 34, 7, 150][1 + (pick(i, 3) % 10) * (pick(i, 3) % 10) // 26] AS CounterID, 100 + (u % 12) * (u % 12) // 6 AS RegionID,
  CASE WHEN pick(i, 4) % 5 = 0 THEN 1 + (pick(i, 5) % 17) % 6 ELSE 0 END AS AdvEngineID, [1024, 1280, 1366, 1920, 0, 2560][1 + u % 6] AS ResolutionWidth,
  CASE WHEN u % 4 = 0 THEN ['iPad', 'iPhone', 'Nokia'][1 + (u // 4 % 6) % 3 * (u // 24 % 2)] ELSE '' END AS MobilePhoneModel, CASE WHEN u % 4 = 0 THEN 1 + u // 4 % 3 ELSE 0 END AS MobilePhone,
  CASE WHEN pick(i, 6) % 3 = 0 THEN 'phrase ' || ((pick(i, 7) % 1000) * (pick(i, 7) % 1000) // 62500) ELSE '' END AS SearchPhrase,
  CASE WHEN pick(i, 6) % 3 = 0 THEN 1 + pick(i, 8) % 4 ELSE 0 END AS SearchEngineID,
  CASE WHEN i % 53 = 0 THEN '' ELSE 'http://' || CASE WHEN pick(i, 9) % 7 = 0 THEN 'www.google.example' ELSE 'shop.example' END || '/page/' || ((pick(i, 10) % 1000) * (pick(i, 10) % 1000) // 83400) END AS URL,
  'Title ' || ((pick(i, 10) % 1000) * (pick(i, 10) % 1000) // 83400) AS Title,
  CASE WHEN pick(i, 11) % 4 = 0 THEN '' ELSE 'http://ref.example/' || (pick(i, 11) % 8) END AS Referer,
  CAST(pick(i, 12) % 10 = 0 AS SMALLINT) AS IsRefresh, CAST(pick(i, 13) % 25 = 0 AS SMALLINT) AS DontCountHits, CAST(pick(i, 14) % 6 = 0 AS SMALLINT) AS IsLink, CAST(pick(i, 15) % 40 = 0 AS SMALLINT) AS IsDownload,
  pick(i, 16) % 7 - 1 AS TraficSourceID
FROM (SELECT i, pick(i, 1) % 700 AS u FROM range(6000) t(i));
