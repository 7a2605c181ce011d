import type { Random } from "../../../pkg/clock/random.ts"
import { chance, pick } from "../chance.ts"
import { labelsOf, NAMES, selectorOf, TIERS, ZONES } from "./names.ts"

interface TemplateOptions {
  readonly restartPolicy?: string
  /** Whether pods may be deleted from the API before their containers have ended. */
  readonly graceless?: boolean
  /** Whether pods may use a claim, which may not exist. */
  readonly claimed?: boolean
  /** Whether pods may require things of their nodes that only some have. */
  readonly choosy?: boolean
}

/** Returns a random pod template; `images` are those its container may have. */
export function template(
  random: Random,
  name: string,
  images: readonly string[],
  { restartPolicy = "Always", graceless = true, claimed = true, choosy = true }: TemplateOptions = {},
): object {
  const image = pick(random, images)
  return {
    metadata: { labels: { ...labelsOf(name), tier: pick(random, TIERS) } },
    spec: peaceful({
      restartPolicy,
      ...(chance(random, 0.3)
        ? { terminationGracePeriodSeconds: pick(random, graceless ? [0, 1, 5, 60] : [1, 5, 60]) }
        : {}),
      ...(chance(random, 0.15)
        ? { initContainers: [{ name: "init", image: "busybox", command: ["sleep", "2"] }] }
        : {}),
      ...(chance(random, 0.1) ? { priorityClassName: "urgent" } : {}),
      ...(chance(random, 0.1)
        ? { tolerations: [{ operator: "Exists", effect: "NoExecute", tolerationSeconds: 60 }] }
        : {}),
      ...(chance(random, 0.2)
        ? {
            volumes: [
              claimed && chance(random, 0.4)
                ? { name: "data", persistentVolumeClaim: { claimName: pick(random, NAMES) } }
                : { name: "shared", emptyDir: {} },
            ],
          }
        : {}),
      ...(chance(random, 0.1) ? spread(random, name) : {}),
      ...(choosy && chance(random, 0.15) ? required(random, name) : {}),
      containers: [
        {
          name: "main",
          image,
          ...(choosy && chance(random, 0.06)
            ? { ports: [{ containerPort: 80, hostPort: pick(random, [8080, 8081]) }] }
            : {}),
          ...(chance(random, 0.6)
            ? { resources: { requests: { cpu: pick(random, ["100m", "500m", "1", "2"]), memory: "64Mi" } } }
            : {}),
          ...(image === "api" && chance(random, 0.8)
            ? { readinessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: pick(random, [1, 3, 10]) } }
            : {}),
          ...(image === "api" && chance(random, 0.3)
            ? { livenessProbe: { httpGet: { path: "/", port: 80 }, initialDelaySeconds: 5 } }
            : {}),
          ...(image === "web" ? webProbes(random) : {}),
        },
        ...(restartPolicy === "Always" && chance(random, 0.1)
          ? [{ name: "side", image: pick(random, ["app", "slowstop"]) }]
          : []),
      ],
    }),
  }
}

/**
 * Takes the priority from pods that keep others off their node. Such a pod would end pods of a DaemonSet with the same
 * labels for ever: the new pod of the DaemonSet takes the node while the scheduler backs off from the urgent one, since
 * the plugin InterPodAffinity does not look at pods that are only nominated to a node where no pod has anti-affinity.
 * Source of the behaviour: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go PreFilter.
 */
function peaceful<T extends { priorityClassName?: string; affinity?: { podAntiAffinity?: object } }>(spec: T): T {
  if (!("requiredDuringSchedulingIgnoredDuringExecution" in (spec.affinity?.podAntiAffinity ?? {}))) return spec
  const { priorityClassName: _priority, ...rest } = spec
  return rest as T
}

/** Returns probes of every kind that a container of the image `web` may have. */
function webProbes(random: Random): object {
  const probe = () => ({
    ...pick<object>(random, [
      { httpGet: { path: "/", port: 80 } },
      { httpGet: { path: "/", port: 80 } },
      { tcpSocket: { port: 80 } },
      { grpc: { port: 80 } },
      { exec: { command: ["/healthy"] } },
    ]),
    periodSeconds: pick(random, [1, 2, 3, 7, 10]),
  })
  return {
    ...(chance(random, 0.8) ? { readinessProbe: { ...probe(), successThreshold: pick(random, [1, 1, 3]) } } : {}),
    ...(chance(random, 0.6) ? { livenessProbe: { ...probe(), initialDelaySeconds: pick(random, [1, 3, 5]) } } : {}),
    ...(chance(random, 0.3) ? { startupProbe: probe() } : {}),
  }
}

/** Returns a requirement on the node of a pod, of one of the kinds that the scheduler knows. */
function required(random: Random, name: string): object {
  const term = (topologyKey: string) => ({ topologyKey, labelSelector: selectorOf(name) })
  const [zone, host] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"] as const
  return pick<() => object>(random, [
    () => ({ nodeSelector: { [zone]: pick(random, ZONES) } }),
    () => ({ tolerations: [{ key: "hunt", operator: "Exists", effect: "NoSchedule" }] }),
    () => ({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(host)] } } }),
    () => ({ affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term(zone)] } } }),
    () => ({
      topologySpreadConstraints: [
        { maxSkew: 1, whenUnsatisfiable: "DoNotSchedule", ...term(pick(random, [zone, host])) },
      ],
    }),
    () => ({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: zone, operator: "NotIn", values: [pick(random, ZONES)] }] },
            ],
          },
        },
      },
    }),
  ])()
}

const spread = (random: Random, name: string): object =>
  chance(random, 0.5)
    ? {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: "kubernetes.io/hostname",
            whenUnsatisfiable: "ScheduleAnyway",
            labelSelector: selectorOf(name),
          },
        ],
      }
    : {
        affinity: {
          podAntiAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 1,
                podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector: selectorOf(name) },
              },
            ],
          },
        },
      }
