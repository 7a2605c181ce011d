import type { Random } from "../../../pkg/clock/random.ts"
import { between, chance, pick } from "../chance.ts"
import type { Manifest } from "../program.ts"
import { FINALIZER, labelsOf, LATE, NAMES, SHARED, TIERS } from "./names.ts"
import { pod } from "./workloads.ts"

/** The kinds that pods depend on or that bound them, with random fields. */

export function service(random: Random, name: string): Manifest {
  const headless = chance(random, 0.3)
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: {
      ...(headless ? { clusterIP: "None" } : {}),
      ...(chance(random, 0.2) ? { publishNotReadyAddresses: true } : {}),
      selector: chance(random, 0.5) ? { tier: pick(random, TIERS) } : labelsOf(pick(random, NAMES)),
      ports: [{ port: 80 }],
    },
  }
}

export function budget(random: Random, name: string): Manifest {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name },
    spec: {
      ...(chance(random, 0.5)
        ? { minAvailable: pick(random, [1, 2, "50%"]) }
        : { maxUnavailable: pick(random, [0, 1, "30%"]) }),
      ...(chance(random, 0.3) ? { unhealthyPodEvictionPolicy: "AlwaysAllow" } : {}),
      selector: { matchLabels: chance(random, 0.5) ? labelsOf(pick(random, NAMES)) : { tier: pick(random, TIERS) } },
    },
  }
}

export function quota(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name },
    spec: {
      hard: {
        pods: String(between(random, 5, 25)),
        ...(chance(random, 0.3) ? { services: "3" } : {}),
        ...(chance(random, 0.2) ? { "requests.cpu": String(between(random, 2, 10)) } : {}),
      },
    },
  }
}

/**
 * Of a class that is bound at once, of one that waits for a pod, or for a volume that is there. Not of the default one:
 * its volumes hold their pods to one node, where there may be no room.
 */
export function claim(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name },
    spec: {
      ...pick(random, [
        { storageClassName: SHARED },
        { storageClassName: LATE },
        { storageClassName: LATE },
        { storageClassName: "" },
      ]),
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    },
  }
}

export function volume(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name },
    spec: {
      capacity: { storage: "2Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: pick(random, ["", LATE]),
      hostPath: { path: `/disks/${name}`, type: "DirectoryOrCreate" },
    },
  }
}

/** A Secret that is filled with a token of the namespace's account. */
export function accountToken(_random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, annotations: { "kubernetes.io/service-account.name": "default" } },
    type: "kubernetes.io/service-account-token",
  }
}

/** A pod with a scheduling gate, which is removed before the cluster comes to rest. */
export function gatedPod(random: Random, name: string): Manifest {
  const { spec, ...rest } = pod(random, name)
  return { ...rest, spec: { ...(spec as object), schedulingGates: [{ name: "hunt/gate" }] } }
}

/** A Service without a selector, with Endpoints that a client writes: they are mirrored to EndpointSlices. */
export function bareService(random: Random, name: string): Manifest {
  return { apiVersion: "v1", kind: "Service", metadata: { name }, spec: { ports: [{ port: between(random, 80, 90) }] } }
}

export function limits(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "LimitRange",
    metadata: { name },
    spec: { limits: [{ type: "Container", defaultRequest: { cpu: pick(random, ["50m", "200m"]) } }] },
  }
}

/** An autoscaler of a Deployment, which may not exist. */
export function autoscaler(random: Random, name: string): Manifest {
  return {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: { name },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: pick(random, NAMES) },
      minReplicas: between(random, 1, 2),
      maxReplicas: between(random, 3, 6),
      metrics: [
        {
          type: "Resource",
          resource: { name: "cpu", target: { type: "Utilization", averageUtilization: pick(random, [20, 50, 80]) } },
        },
      ],
    },
  }
}

/** An object with a finalizer, which is removed before the cluster comes to rest. */
export function heldMap(random: Random, name: string): Manifest {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...(chance(random, 0.5) ? { finalizers: [FINALIZER] } : {}) },
  }
}
