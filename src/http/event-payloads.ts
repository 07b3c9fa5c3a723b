import type { z } from 'zod';
import type { FeedEvent } from '#src/contract/events.js';
import { documentShape, fileShape, membershipShape, sessionShape, teamShape, userShape } from '#src/features/index.js';

/** The payload of each event of the feed: the resource as REST prints it. */
export const eventPayloads: Readonly<Record<FeedEvent, z.ZodType>> = {
  documentCreated: documentShape,
  documentUpdated: documentShape,
  documentDeleted: documentShape,
  fileCreated: fileShape,
  fileDeleted: fileShape,
  fileUpdated: fileShape,
  sessionCreated: sessionShape,
  sessionDeleted: sessionShape,
  accountUpdated: userShape,
  teamCreated: teamShape,
  teamUpdated: teamShape,
  teamDeleted: teamShape,
  membershipCreated: membershipShape,
  membershipUpdated: membershipShape,
  membershipDeleted: membershipShape,
};
