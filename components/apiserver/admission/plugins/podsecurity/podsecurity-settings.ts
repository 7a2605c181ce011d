import type { PolicyDefaults } from "./policy.ts"

/** What PodSecurity does beside the labels of namespaces. */
export interface PodSecuritySettings {
  /** What namespaces without labels have; privileged unless given. */
  readonly defaults?: PolicyDefaults
  /** Whose pods are not checked. */
  readonly exemptions?: {
    readonly usernames?: readonly string[] | undefined
    readonly namespaces?: readonly string[] | undefined
    readonly runtimeClasses?: readonly string[] | undefined
  }
}
