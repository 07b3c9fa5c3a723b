import type { subscribableEvents } from '#src/contract/events.js';
import { type Instant, toWireInstant } from '#src/contract/shapes.js';

type EventName = (typeof subscribableEvents)[number];

const sampleId = 'sample';

const document = (time: string) => ({
  $id: sampleId,
  $sequence: '1',
  $collectionId: sampleId,
  $databaseId: sampleId,
  $createdAt: time,
  $updatedAt: time,
  $permissions: ['read("any")', 'update("user:sample")'],
  title: 'A sample document',
  price: 12.5,
  tags: ['sample', 'test'],
});

const session = (time: string) => ({
  $id: sampleId,
  $createdAt: time,
  $updatedAt: time,
  userId: sampleId,
  expire: time,
  provider: 'email',
  providerUid: 'person@example.com',
  providerAccessToken: '',
  providerAccessTokenExpiry: '',
  providerRefreshToken: '',
  ip: '203.0.113.7',
  osCode: 'LIN',
  osName: 'Linux',
  osVersion: '',
  clientType: 'browser',
  clientCode: 'FF',
  clientName: 'Firefox',
  clientVersion: '140.0',
  clientEngine: 'Gecko',
  clientEngineVersion: '140.0',
  deviceName: 'desktop',
  deviceBrand: '',
  deviceModel: '',
  countryCode: '',
  countryName: '',
  current: false,
  factors: ['password'],
  secret: '',
  mfaUpdatedAt: '',
});

const file = (time: string) => ({
  $id: sampleId,
  bucketId: sampleId,
  $createdAt: time,
  $updatedAt: time,
  $permissions: ['read("any")'],
  name: 'sample.png',
  signature: 'd41d8cd98f00b204e9800998ecf8427e',
  mimeType: 'image/png',
  sizeOriginal: 12_345,
  sizeActual: 12_345,
  chunksTotal: 1,
  chunksUploaded: 1,
  encryption: true,
  compression: 'none',
});

const samples: Readonly<Record<EventName, (time: string) => object>> = {
  documentCreated: document,
  documentUpdated: document,
  documentDeleted: document,
  sessionCreated: session,
  sessionDeleted: session,
  fileCreated: file,
  fileDeleted: file,
};

/** A sample payload for an event, as JSON: the members of a real one with invented values. */
export function sampleOf(event: EventName, time: Instant): string {
  return JSON.stringify(samples[event](toWireInstant(time)));
}
