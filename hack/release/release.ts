import type { DebianArchive } from "./debian-archive.ts"
import type { Architecture } from "./architectures.ts"

/** What is released, and where its files go. */
export interface Release {
  /** From package.json, like "0.1.0". */
  readonly version: string
  /** 40 hexadecimal digits. */
  readonly commit: string
  /** When the commit was made, in seconds since 1970: the only time that a file of a release may tell. */
  readonly epoch: number
  /** The checkout: an absolute path that no file of a release may tell. */
  readonly root: string
  /** The executables, made before everything else: absolute paths. */
  readonly executables: Readonly<Record<Architecture, string>>
  /** A folder for what is made in between. It is deleted in the end. */
  readonly scratch: string
  /** The folder of the finished files. */
  readonly output: string
}

/** What some makers need besides: it is fetched first. */
export interface Sources {
  readonly debian: DebianArchive
}

/**
 * Makes some files of a release in its output folder, and returns their names in that folder. The same commit must give
 * the same bytes: no time but the release's, no path of this machine, no order of a directory listing.
 */
export type Maker = (release: Release, sources: Sources) => Promise<readonly string[]>

/** The day and time of the commit, RFC 3339 in UTC. */
export const releaseDate = ({ epoch }: Pick<Release, "epoch">): string =>
  `${new Date(epoch * 1000).toISOString().slice(0, 19)}Z`
