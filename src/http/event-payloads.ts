import { z } from 'zod';
import { erasedPayload, type FeedEvent } from '#src/contract/events.js';
import { documentShape, fileShape, membershipShape, sessionShape, teamShape, userShape } from '#src/features/index.js';

/** The resource, or the remainder that `svc user erase` leaves of it. Documents are never erased. */
const orErased = (shape: z.ZodType) => z.union([shape, erasedPayload]);

/** The payload of each event in the feed: the resource as REST returns it. */
export const eventPayloads: Readonly<Record<FeedEvent, z.ZodType>> = {
  documentCreated: documentShape,
  documentUpdated: documentShape,
  documentDeleted: documentShape,
  fileCreated: orErased(fileShape),
  fileDeleted: orErased(fileShape),
  fileUpdated: orErased(fileShape),
  sessionCreated: orErased(sessionShape),
  sessionDeleted: orErased(sessionShape),
  accountUpdated: orErased(userShape),
  teamCreated: orErased(teamShape),
  teamUpdated: orErased(teamShape),
  teamDeleted: orErased(teamShape),
  membershipCreated: orErased(membershipShape),
  membershipUpdated: orErased(membershipShape),
  membershipDeleted: orErased(membershipShape),
};
