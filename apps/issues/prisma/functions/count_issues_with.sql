CREATE OR REPLACE FUNCTION public.count_issues_with(words tsquery, bound integer)
 RETURNS bigint
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_indexscan TO 'off'
 SET enable_indexonlyscan TO 'off'
AS $function$SELECT count(*) FROM (SELECT FROM issue_search s WHERE s.words @@ $1 LIMIT $2) found$function$;
