/** The processors that a release is for, by Go's and Debian's names, which the files have. */
export const ARCHITECTURES = ["amd64", "arm64"] as const
export type Architecture = (typeof ARCHITECTURES)[number]
