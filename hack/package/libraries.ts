/** The folder of a library in the path of one of its files; the innermost, where a library has others of its own. */
const LIBRARY = /(?:^|\/)(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//

/**
 * Returns the libraries of which a bundle has code, from the files that Bun's metafile names: their folders from the
 * root of the repository, as the lock file names them, such as "node_modules/yaml".
 */
export const librariesOf = (files: readonly string[]): readonly string[] =>
  [...new Set(files.flatMap((path) => LIBRARY.exec(path)?.[1] ?? []))].sort()
