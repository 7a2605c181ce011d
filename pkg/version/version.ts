/**
 * Version, commit and build of this program, for `k3ts version` and the API server's /version. `hack/build.sh` defines
 * the constants below in the executable. When k3ts runs from source they are not defined, hence `typeof`.
 */

declare const K3TS_VERSION: string
declare const K3TS_GIT_COMMIT: string
declare const K3TS_GIT_TREE_STATE: string
declare const K3TS_BUILD_DATE: string

/** The Kubernetes release whose API is served. */
export const KUBERNETES_MINOR = { major: "1", minor: "36" } as const

/**
 * The version that clients compare with their own: Kubernetes' semantic version, with that of k3ts as build metadata.
 */
export const GIT_VERSION = `v${KUBERNETES_MINOR.major}.${KUBERNETES_MINOR.minor}.0+k3ts`

/** The version of k3ts itself, from package.json; "dev" when run from source. */
export const version: string = typeof K3TS_VERSION === "undefined" ? "dev" : K3TS_VERSION

/** The commit that the executable was built from; empty when unknown. */
export const gitCommit: string = typeof K3TS_GIT_COMMIT === "undefined" ? "" : K3TS_GIT_COMMIT

/** The state of the sources: git's "clean" or "dirty"; "archive" when built without git. */
export const gitTreeState: string = typeof K3TS_GIT_TREE_STATE === "undefined" ? "archive" : K3TS_GIT_TREE_STATE

/**
 * The date of the commit, as RFC 3339 in UTC. It is not the date of the build, so that a commit always builds to the
 * same bytes.
 */
export const buildDate: string = typeof K3TS_BUILD_DATE === "undefined" ? "1970-01-01T00:00:00Z" : K3TS_BUILD_DATE
