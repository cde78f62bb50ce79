-- Questions as ClickBench asks them: one wide table of page views, people told apart by UserID.

-- name: count
-- world: hits
SELECT COUNT(*) FROM hits;

-- name: count_adverts
-- world: hits
SELECT COUNT(*) FROM hits WHERE AdvEngineID <> 0;

-- name: several_aggregates
-- world: hits
SELECT SUM(AdvEngineID), COUNT(*), AVG(ResolutionWidth) FROM hits;

-- name: average_of_user_ids
-- world: hits
-- refused: UserID
SELECT AVG(UserID) FROM hits;

-- name: users
-- world: hits
SELECT COUNT(DISTINCT UserID) FROM hits;

-- name: different_phrases
-- world: hits
SELECT COUNT(DISTINCT SearchPhrase) FROM hits;

-- name: first_and_last_day
-- world: hits
-- close: 0.003
SELECT MIN(EventDate), MAX(EventDate) FROM hits;

-- name: adverts_by_engine
-- world: hits
SELECT AdvEngineID, COUNT(*) FROM hits WHERE AdvEngineID <> 0 GROUP BY AdvEngineID ORDER BY COUNT(*) DESC;

-- name: users_by_region
-- world: hits
SELECT RegionID, COUNT(DISTINCT UserID) AS u FROM hits GROUP BY RegionID ORDER BY u DESC, RegionID LIMIT 10;

-- name: regions_in_detail
-- world: hits
SELECT RegionID, SUM(AdvEngineID), COUNT(*) AS c, AVG(ResolutionWidth), COUNT(DISTINCT UserID) FROM hits GROUP BY RegionID ORDER BY c DESC LIMIT 8;

-- name: phone_models
-- world: hits
SELECT MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhoneModel ORDER BY u DESC, MobilePhoneModel LIMIT 10;

-- name: phones_and_models
-- world: hits
SELECT MobilePhone, MobilePhoneModel, COUNT(DISTINCT UserID) AS u FROM hits WHERE MobilePhoneModel <> '' GROUP BY MobilePhone, MobilePhoneModel ORDER BY u DESC, MobilePhone, MobilePhoneModel LIMIT 10;

-- name: frequent_phrases
-- world: hits
SELECT SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10;

-- name: phrases_by_engine
-- world: hits
SELECT SearchEngineID, SearchPhrase, COUNT(*) AS c FROM hits WHERE SearchPhrase <> '' GROUP BY SearchEngineID, SearchPhrase ORDER BY c DESC, SearchEngineID, SearchPhrase LIMIT 10;

-- name: most_active_users
-- world: hits
-- refused: UserID
SELECT UserID, COUNT(*) FROM hits GROUP BY UserID ORDER BY COUNT(*) DESC LIMIT 10;

-- name: one_user
-- world: hits
-- refused: single rows
SELECT UserID FROM hits WHERE UserID = 435090932899640449;

-- name: google_pages
-- world: hits
SELECT COUNT(*) FROM hits WHERE URL LIKE '%google%';

-- name: least_url_per_phrase
-- world: hits
-- refused: text
SELECT SearchPhrase, MIN(URL), COUNT(*) AS c FROM hits WHERE URL LIKE '%google%' AND SearchPhrase <> '' GROUP BY SearchPhrase ORDER BY c DESC LIMIT 10;

-- name: whole_rows
-- world: hits
-- refused: request.unsupported
SELECT * FROM hits WHERE URL LIKE '%google%' ORDER BY EventTime LIMIT 10;

-- name: earliest_phrases
-- world: hits
-- refused: single rows
SELECT SearchPhrase FROM hits WHERE SearchPhrase <> '' ORDER BY EventTime LIMIT 10;

-- name: length_of_urls
-- world: hits
SELECT CounterID, AVG(LENGTH(URL)) AS l, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY CounterID HAVING COUNT(*) > 500 ORDER BY l DESC LIMIT 25;

-- name: many_sums
-- world: hits
SELECT SUM(ResolutionWidth), SUM(ResolutionWidth + 1), SUM(ResolutionWidth + 2), SUM(ResolutionWidth + 3), SUM(ResolutionWidth + 4), SUM(ResolutionWidth + 5) FROM hits;

-- name: constant_in_group_by
-- world: hits
SELECT 1, URL, COUNT(*) AS c FROM hits WHERE URL <> '' GROUP BY 1, URL ORDER BY c DESC LIMIT 10;

-- name: page_views_of_a_counter
-- world: hits
SELECT URL, COUNT(*) AS PageViews FROM hits
WHERE CounterID = 62 AND EventDate >= '2013-07-01' AND EventDate <= '2013-07-31' AND DontCountHits = 0 AND IsRefresh = 0 AND URL <> ''
GROUP BY URL ORDER BY PageViews DESC LIMIT 10;

-- name: titles_of_a_counter
-- world: hits
SELECT Title, COUNT(*) AS PageViews FROM hits
WHERE CounterID = 62 AND EventDate BETWEEN '2013-07-01' AND '2013-07-31' AND NOT DontCountHits AND NOT IsRefresh AND Title <> ''
GROUP BY Title ORDER BY PageViews DESC LIMIT 10;

-- name: links_with_offset
-- world: hits
SELECT URL, COUNT(*) AS PageViews FROM hits WHERE CounterID = 62 AND IsRefresh = 0 AND IsLink <> 0 AND IsDownload = 0 GROUP BY URL ORDER BY PageViews DESC, URL LIMIT 5 OFFSET 3;

-- name: sources_of_traffic
-- world: hits
SELECT TraficSourceID, SearchEngineID, AdvEngineID, CASE WHEN (SearchEngineID = 0 AND AdvEngineID = 0) THEN Referer ELSE '' END AS Src, COUNT(*) AS PageViews
FROM hits WHERE CounterID = 62 AND IsRefresh = 0 GROUP BY TraficSourceID, SearchEngineID, AdvEngineID, Src ORDER BY PageViews DESC, TraficSourceID, Src LIMIT 5;

-- name: hours_of_two_days
-- world: hits
SELECT DATE_TRUNC('hour', EventTime) AS M, COUNT(*) AS PageViews FROM hits
WHERE EventDate >= '2013-07-14' AND EventDate <= '2013-07-15' AND DontCountHits = 0 GROUP BY DATE_TRUNC('hour', EventTime) ORDER BY DATE_TRUNC('hour', EventTime);

-- name: minutes_of_day
-- world: hits
SELECT EXTRACT(minute FROM EventTime) AS m, COUNT(*) AS c FROM hits GROUP BY m ORDER BY m LIMIT 10;
