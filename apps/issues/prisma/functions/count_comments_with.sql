CREATE OR REPLACE FUNCTION public.count_comments_with(words tsquery, bound integer)
 RETURNS bigint
 LANGUAGE sql
 STABLE
 SET enable_seqscan TO 'off'
 SET enable_indexscan TO 'off'
 SET enable_indexonlyscan TO 'off'
AS $function$SELECT count(*) FROM (SELECT FROM comments c WHERE c.words @@ $1 LIMIT $2) found$function$;
