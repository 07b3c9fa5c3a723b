// Every operation that answers a list says what bounds it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { createGraphql } from '#src/graphql/endpoint.js';
import { startAppliance } from '../harness/appliance.js';

const target = await startAppliance();
const { runtime, features } = target.appliance;
const graphql = createGraphql(runtime, features.operations, () => Promise.reject(new TypeError('no page here')));
const declarations = [...features.operations, ...graphql].map(({ declaration }) => declaration);

/** Whether a reply is a list: entries with their total, or an array. */
function isList(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodUnion) return schema.options.some((option) => isList(option as z.ZodType));
  return (
    schema instanceof z.ZodArray ||
    (schema instanceof z.ZodObject &&
      'total' in schema.shape &&
      Object.values(schema.shape).some((member) => member instanceof z.ZodArray))
  );
}

test('every list names its bound, and none is larger than an answer may be', () => {
  const lists = declarations.filter(({ reply: { shape } }) => shape.kind === 'json' && isList(shape.schema));
  assert.ok(lists.length > 15);
  const silent = lists.filter(({ reply: { bound } }) => bound === undefined).map(({ id }) => id);
  assert.deepEqual(silent, []);
  for (const { id, reply } of declarations)
    if (typeof reply.bound === 'object')
      assert.ok(reply.bound.entries * reply.bound.bytes <= runtime.config.answerMaxBytes, id);
});
