import { buildDate, gitCommit, gitTreeState, GIT_VERSION, KUBERNETES_MINOR } from "../../../pkg/version/version.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"

/**
 * Source: apimachinery pkg/version/types.go. Clients also read the fields about Go, which name the JavaScript runtime
 * instead.
 */
export const versionInfo = () => ({
  ...KUBERNETES_MINOR,
  emulationMajor: KUBERNETES_MINOR.major,
  emulationMinor: KUBERNETES_MINOR.minor,
  minCompatibilityMajor: KUBERNETES_MINOR.major,
  minCompatibilityMinor: String(Number(KUBERNETES_MINOR.minor) - 1),
  gitVersion: GIT_VERSION,
  gitCommit,
  gitTreeState,
  buildDate,
  goVersion: `bun${process.versions.bun ?? process.versions.node}`,
  compiler: "bun",
  platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
})

/** Registers which build this is, with upstream's labels. Source: component-base metrics/version.go. */
export function registerBuildInfo(registry: Registry): void {
  const { major, minor, gitVersion, goVersion, compiler, platform } = versionInfo()
  const labels = {
    build_date: buildDate,
    compiler,
    git_commit: gitCommit,
    git_tree_state: gitTreeState,
    git_version: gitVersion,
    go_version: goVersion,
    major,
    minor,
    platform,
  }
  registry
    .gauge(
      "kubernetes_build_info",
      "Which build of which version this is; the value is always 1.",
      ...Object.keys(labels),
    )
    .with(...Object.values(labels))
    .set(1)
}
