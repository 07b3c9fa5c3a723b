/**
 * Types of platforms that are apps. The origin of an app is `appwrite-SYSTEM://ID`; the ID is the same on each system. The SDKs have models
 * for the first four, each with its own name for the ID.
 */
export const appTypes = {
  android: { systems: ['android'], member: 'applicationId' },
  apple: { systems: ['ios', 'macos', 'watchos', 'tvos'], member: 'bundleIdentifier' },
  windows: { systems: ['windows'], member: 'packageIdentifierName' },
  linux: { systems: ['linux'], member: 'packageName' },
  flutter: { systems: ['android', 'ios', 'macos', 'windows', 'linux'], member: 'key' },
  'react-native': { systems: ['android', 'ios', 'macos', 'windows'], member: 'key' },
} as const satisfies Record<string, { readonly systems: readonly string[]; readonly member: string }>;

/** A type of platforms that are apps. */
export type AppType = keyof typeof appTypes;

/** Pages of a hostname, or an app. */
export type PlatformType = 'web' | AppType;

/** Every type of platforms. */
export const platformTypes: readonly ['web', ...AppType[]] = ['web', ...(Object.keys(appTypes) as AppType[])];

/** An app that may call the service like the pages of a project. */
export interface App {
  readonly type: AppType;
  /** Application id, bundle identifier or package name. */
  readonly id: string;
}

/** The system and the id in the origin of an app; undefined for other origins. */
export function appOrigin(origin: string): { readonly system: string; readonly id: string } | undefined {
  const [, system, id] = /^appwrite-([a-z]+):\/\/([\w.-]*)$/.exec(origin) ?? [];
  return system === undefined || id === undefined ? undefined : { system, id };
}

/**
 * The URL scheme that opens an app of the project; apps register it as the SDKs require. Browsers convert schemes to lower case, and a
 * project id with `_` has no valid scheme.
 */
export function callbackScheme({ id }: { readonly id: string }): string {
  return `appwrite-callback-${id.toLowerCase()}`;
}

/** The types of apps that run on a system. */
export function typesOn(system: string): AppType[] {
  return (Object.keys(appTypes) as AppType[]).filter((type) =>
    (appTypes[type].systems as readonly string[]).includes(system),
  );
}
