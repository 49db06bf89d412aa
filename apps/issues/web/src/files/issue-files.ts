import { queryOptions, useQuery } from '@tanstack/react-query';
import type { AttachedFile, Issue } from '@tessera/contracts';
import { call } from '../http/api.ts';

/** All files of an issue. */
export const filesQuery = (key: string) =>
  queryOptions({
    queryKey: ['files', key],
    queryFn: ({ signal }) => call('listAttachments', { params: { id: key }, signal }),
  });

/** The files that the description can show: the issue has the oldest of them with it. */
export function useFilesOf({
  key,
  attachments = [],
  attachments_count = 0,
  description,
}: Issue): readonly AttachedFile[] {
  const named = description.match(/attachment:[0-9a-f-]{36}/gi) ?? [];
  const isMore =
    attachments_count > attachments.length &&
    named.some((one) => !attachments.some(({ id }) => one.toLowerCase().endsWith(id)));
  const { data } = useQuery({ ...filesQuery(key), enabled: isMore });
  return isMore ? (data ?? attachments) : attachments;
}
