import type { ProjectFile } from '../project-file/file.js';

type ListItem<T> = NonNullable<T> extends readonly (infer Item)[] ? Item : never;

/** A database of a project file. */
export type SourceDatabase = ListItem<ProjectFile['databases']>;
/** A collection of a project file. */
export type FileCollection = ListItem<SourceDatabase['collections']>;
/** An attribute of a project file. */
export type SourceAttribute = ListItem<FileCollection['attributes']>;
/** An index of a project file. */
export type SourceIndex = ListItem<FileCollection['indexes']>;
/** A bucket of a project file. */
export type SourceBucket = ListItem<ProjectFile['buckets']>;
