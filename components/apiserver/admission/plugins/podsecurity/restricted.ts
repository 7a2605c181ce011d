/**
 * The rules of the restricted level of the Pod Security Standards beyond those of the baseline level. Order and
 * messages are upstream's. Source: k8s.io/pod-security-admission/policy.
 */
import type { Pod } from "../../../../../pkg/api/core/v1/pod/pod.ts"
import { containersOf } from "../pods.ts"
import { procMount, unconfined } from "./baseline.ts"
import {
  badSetters,
  containersText,
  distinct,
  hasUserNamespace,
  isWindows,
  namesWhere,
  plural,
  quoted,
  type Check,
  type Container,
} from "./check.ts"

const VOLUME_TYPES = new Set([
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
])

/** Windows has none of these settings; since version 1.25 the standard exempts Windows pods. */
const spared = (pod: Pod, version: number): boolean => version >= 25 && isWindows(pod)
const sparedByUserNamespace = (pod: Pod, version: number): boolean => version >= 35 && hasUserNamespace(pod)

export const RESTRICTED: readonly Check[] = [
  {
    id: "allowPrivilegeEscalation",
    since: 8,
    find(pod, version) {
      const names = spared(pod, version)
        ? []
        : namesWhere(pod, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false)
      return names.length === 0
        ? undefined
        : {
            reason: "allowPrivilegeEscalation != false",
            detail: `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`,
          }
    },
  },
  {
    id: "capabilities_restricted",
    since: 22,
    replaces: "capabilities_baseline",
    find(pod, version) {
      if (spared(pod, version)) return undefined
      const added = ({ securityContext }: Container) =>
        (securityContext?.capabilities?.add ?? []).filter((name) => name !== "NET_BIND_SERVICE")
      const keep = namesWhere(
        pod,
        ({ securityContext }) => securityContext?.capabilities?.drop?.includes("ALL") !== true,
      )
      const add = namesWhere(pod, (container) => added(container).length > 0)
      const details = [
        ...(keep.length > 0 ? [`${containersText(keep)} must set securityContext.capabilities.drop=["ALL"]`] : []),
        ...(add.length > 0
          ? [
              `${containersText(add)} must not include ${quoted(distinct(containersOf(pod).flatMap(added)))} ` +
                "in securityContext.capabilities.add",
            ]
          : []),
      ]
      return details.length === 0 ? undefined : { reason: "unrestricted capabilities", detail: details.join("; ") }
    },
  },
  { id: "procMount_restricted", since: 35, replaces: "procMount", find: procMount },
  {
    id: "restrictedVolumes",
    since: 0,
    replaces: "hostPathVolumes",
    find({ spec }) {
      const typeOf = (volume: object) =>
        Object.entries(volume).find(([key, value]) => key !== "name" && value !== undefined)?.[0] ?? "unknown"
      const bad = (spec.volumes ?? []).filter((volume) => !VOLUME_TYPES.has(typeOf(volume)))
      const types = distinct(bad.map(typeOf))
      return bad.length === 0
        ? undefined
        : {
            reason: "restricted volume types",
            detail:
              `${plural(bad.length, "volume")} ${quoted(bad.map(({ name }) => name))} ` +
              `${plural(bad.length, "uses", "use")} ${plural(types.length, "restricted volume type")} ` +
              `${quoted(types)}`,
          }
    },
  },
  {
    id: "runAsNonRoot",
    since: 0,
    find(pod, version) {
      if (sparedByUserNamespace(pod, version)) return undefined
      const reason = "runAsNonRoot != true"
      const bad = badSetters(
        pod,
        ({ runAsNonRoot }) => runAsNonRoot,
        (nonRoot) => !nonRoot,
      )
      if (bad !== undefined) return { reason, detail: `${bad.who} must not set securityContext.runAsNonRoot=false` }
      const silent =
        pod.spec.securityContext.runAsNonRoot === true
          ? []
          : namesWhere(pod, ({ securityContext }) => securityContext?.runAsNonRoot === undefined)
      return silent.length === 0
        ? undefined
        : { reason, detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true` }
    },
  },
  {
    id: "runAsUser",
    since: 23,
    find(pod, version) {
      const bad = sparedByUserNamespace(pod, version)
        ? undefined
        : badSetters(
            pod,
            ({ runAsUser }) => runAsUser,
            (user) => user === 0,
          )
      return bad === undefined ? undefined : { reason: "runAsUser=0", detail: `${bad.who} must not set runAsUser=0` }
    },
  },
  {
    id: "seccompProfile_restricted",
    since: 19,
    replaces: "seccompProfile_baseline",
    find(pod, version) {
      if (spared(pod, version)) return undefined
      const bad = unconfined(pod)
      if (bad !== undefined) return bad
      const silent =
        pod.spec.securityContext.seccompProfile !== undefined
          ? []
          : namesWhere(pod, ({ securityContext }) => securityContext?.seccompProfile === undefined)
      return silent.length === 0
        ? undefined
        : {
            reason: "seccompProfile",
            detail:
              `pod or ${containersText(silent)} must set securityContext.seccompProfile.type to ` +
              `"RuntimeDefault" or "Localhost"`,
          }
    },
  },
]
