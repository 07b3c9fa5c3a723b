import { z } from 'zod';
import { type Declaration, declare, empty, json, serverKeys } from '#src/contract/declaration.js';
import { customId, displayName, newId, uniqueId, visibleText } from '#src/contract/shapes.js';
import { platformShape } from './view.js';

const common = { tag: 'project', limits: { calls: 'data' } } as const;
const params = z.object({ platformId: customId });
const hostname = z
  .string()
  .min(1)
  .max(253)
  .meta({ description: 'Host name without scheme, port and path; *.example.com for all subdomains' });

const app = visibleText(256).min(1);
const applicationId = app.meta({ description: 'Application id of the Android app' });
const bundleIdentifier = app.meta({ description: 'Bundle identifier of the app for iOS, macOS, watchOS or tvOS' });
const packageName = app.meta({ description: 'Package name of the Linux app' });
const packageIdentifierName = app.meta({ description: 'Package identifier name of the Windows app' });

const creation = <S extends z.ZodRawShape>(id: string, path: string, what: string, own: S) =>
  ({
    ...common,
    id,
    method: 'POST',
    path: `/project/platforms/${path}`,
    summary: `Registers ${what} that may call the service.`,
    access: serverKeys('platforms.write'),
    input: { body: z.object({ platformId: newId.default(uniqueId), name: displayName.default(''), ...own }) },
    reply: { status: 201, shape: json(platformShape), errors: ['platform_already_exists', 'platform_limit_exceeded'] },
  }) as const satisfies Declaration;
const change = <S extends z.ZodRawShape>(id: string, path: string, what: string, own: S) =>
  ({
    ...common,
    id,
    method: 'PUT',
    path: `/project/platforms/${path}/:platformId`,
    summary: `Changes the name of a platform, and ${what}.`,
    access: serverKeys('platforms.write'),
    input: { params, body: z.object({ name: displayName, ...own }) },
    reply: { status: 200, shape: json(platformShape), errors: ['platform_not_found', 'platform_already_exists'] },
  }) as const satisfies Declaration;

/** Web pages and apps of a project, managed with server keys. */
export const platformsApi = declare({
  create: creation('platforms.create', 'web', 'the pages of a host name', { hostname }),
  createAndroid: creation('platforms.createAndroid', 'android', 'an Android app', { applicationId }),
  createApple: creation('platforms.createApple', 'apple', 'an app for iOS, macOS, watchOS or tvOS', {
    bundleIdentifier,
  }),
  createLinux: creation('platforms.createLinux', 'linux', 'a Linux app', { packageName }),
  createWindows: creation('platforms.createWindows', 'windows', 'a Windows app', { packageIdentifierName }),
  list: {
    ...common,
    id: 'platforms.list',
    method: 'GET',
    path: '/project/platforms',
    summary: 'Lists the platforms of the project.',
    access: serverKeys('platforms.read'),
    reply: {
      status: 200,
      shape: json(z.object({ total: z.int(), platforms: z.array(platformShape) }).meta({ id: 'PlatformList' })),
      bound: 'budget',
      errors: [],
    },
  },
  get: {
    ...common,
    id: 'platforms.get',
    method: 'GET',
    path: '/project/platforms/:platformId',
    summary: 'Reads a platform.',
    access: serverKeys('platforms.read'),
    input: { params },
    reply: { status: 200, shape: json(platformShape), errors: ['platform_not_found'] },
  },
  update: change('platforms.update', 'web', 'its host name', { hostname }),
  updateAndroid: change('platforms.updateAndroid', 'android', 'the id of its Android app', { applicationId }),
  updateApple: change('platforms.updateApple', 'apple', 'the bundle identifier of its app', { bundleIdentifier }),
  updateLinux: change('platforms.updateLinux', 'linux', 'the package name of its Linux app', { packageName }),
  updateWindows: change('platforms.updateWindows', 'windows', 'the package name of its Windows app', {
    packageIdentifierName,
  }),
  delete: {
    ...common,
    id: 'platforms.delete',
    method: 'DELETE',
    path: '/project/platforms/:platformId',
    summary: 'Removes a platform.',
    access: serverKeys('platforms.write'),
    input: { params },
    reply: { status: 204, shape: empty, errors: ['platform_not_found'] },
  },
});
