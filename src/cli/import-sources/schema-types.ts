import type { ProjectFile } from '../project-file/file.js';

type ListItem<T> = NonNullable<T> extends readonly (infer Item)[] ? Item : never;

/** A database of a project file. */
export type SourceDatabase = ListItem<ProjectFile['databases']>;
/** A collection of a project file. */
export type SourceCollection = ListItem<SourceDatabase['collections']>;
/** An attribute of a project file. */
export type SourceAttribute = ListItem<SourceCollection['attributes']>;
/** An index of a project file. */
export type SourceIndex = ListItem<SourceCollection['indexes']>;
/** A bucket of a project file. */
export type SourceBucket = ListItem<ProjectFile['buckets']>;
