import type { Base } from "./base.ts"

const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "d" }
const metric = { name: "m", selector: { matchLabels: { a: "b" } } }
const rules = {
  stabilizationWindowSeconds: 60,
  selectPolicy: "Min",
  policies: [
    { type: "Pods", value: 2, periodSeconds: 30 },
    { type: "Percent", value: 50, periodSeconds: 60 },
  ],
  tolerance: "50m",
}
const lastTransitionTime = "2026-01-01T00:00:00Z"

/** HorizontalPodAutoscalers in both versions. */
export const AUTOSCALING_BASES: readonly Base[] = [
  {
    kind: "autoscaling/v2 HorizontalPodAutoscaler",
    name: "minimal",
    body: { spec: { scaleTargetRef, maxReplicas: 3 } },
  },
  {
    kind: "autoscaling/v2 HorizontalPodAutoscaler",
    name: "replication controller",
    body: { spec: { scaleTargetRef: { kind: "ReplicationController", name: "c" }, maxReplicas: 3 } },
  },
  {
    kind: "autoscaling/v2 HorizontalPodAutoscaler",
    name: "full",
    body: {
      metadata: { annotations: { "autoscaling.alpha.kubernetes.io/metrics": "[]", kept: "x" } },
      spec: {
        scaleTargetRef,
        minReplicas: 2,
        maxReplicas: 5,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
          { type: "Pods", pods: { metric, target: { type: "AverageValue", averageValue: "100" } } },
        ],
        behavior: { scaleUp: rules, scaleDown: rules },
      },
    },
    status: {
      observedGeneration: 1,
      lastScaleTime: lastTransitionTime,
      currentReplicas: 2,
      desiredReplicas: 3,
      currentMetrics: [
        { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 70, averageValue: "70m" } } },
        { type: "Pods", pods: { metric, current: { averageValue: "110" } } },
      ],
      conditions: [{ type: "AbleToScale", status: "True", lastTransitionTime, reason: "R", message: "m" }],
    },
  },
  {
    kind: "autoscaling/v2 HorizontalPodAutoscaler",
    name: "other metrics",
    body: {
      spec: {
        scaleTargetRef,
        maxReplicas: 5,
        metrics: [
          {
            type: "Object",
            object: {
              describedObject: { apiVersion: "networking.k8s.io/v1", kind: "Ingress", name: "i" },
              metric,
              target: { type: "Value", value: "10" },
            },
          },
          { type: "External", external: { metric, target: { type: "AverageValue", averageValue: "5" } } },
        ],
      },
    },
  },
  {
    kind: "autoscaling/v2 HorizontalPodAutoscaler",
    name: "containers",
    body: {
      spec: {
        scaleTargetRef,
        maxReplicas: 5,
        metrics: [
          {
            type: "ContainerResource",
            containerResource: {
              name: "memory",
              container: "c",
              target: { type: "AverageValue", averageValue: "1Gi" },
            },
          },
        ],
      },
    },
  },
  {
    kind: "autoscaling/v1 HorizontalPodAutoscaler",
    name: "minimal",
    body: { spec: { scaleTargetRef, maxReplicas: 3 } },
  },
  {
    kind: "autoscaling/v1 HorizontalPodAutoscaler",
    name: "full",
    body: {
      spec: { scaleTargetRef, minReplicas: 2, maxReplicas: 5, targetCPUUtilizationPercentage: 60 },
    },
    status: {
      observedGeneration: 1,
      lastScaleTime: lastTransitionTime,
      currentReplicas: 2,
      desiredReplicas: 3,
      currentCPUUtilizationPercentage: 70,
    },
  },
  {
    kind: "autoscaling/v1 HorizontalPodAutoscaler",
    name: "annotations",
    body: {
      metadata: {
        annotations: {
          "autoscaling.alpha.kubernetes.io/metrics": JSON.stringify([
            {
              type: "Pods",
              pods: { metricName: "m", targetAverageValue: "5", selector: { matchLabels: { b: "<", a: "" } } },
            },
            { type: "Object", object: { target: { kind: "Ingress", name: "i" }, metricName: "o", targetValue: "10" } },
            { type: "External", external: { metricName: "e", targetAverageValue: "1500m" } },
            {
              type: "ContainerResource",
              containerResource: { name: "cpu", container: "c", targetAverageUtilization: 5 },
            },
          ]),
          "autoscaling.alpha.kubernetes.io/behavior": JSON.stringify({
            ScaleDown: {
              SelectPolicy: "Max",
              Policies: [{ Type: "Pods", Value: 1, PeriodSeconds: 3 }],
              Tolerance: "10m",
            },
          }),
          "autoscaling.alpha.kubernetes.io/conditions": JSON.stringify([{ type: "AbleToScale", status: "True" }]),
          kept: "x",
        },
      },
      spec: { scaleTargetRef, maxReplicas: 5 },
    },
  },
  {
    kind: "autoscaling/v1 HorizontalPodAutoscaler",
    name: "annotations that cannot be read",
    body: {
      metadata: {
        annotations: {
          "autoscaling.alpha.kubernetes.io/metrics": JSON.stringify([{ type: 7 }]),
          "autoscaling.alpha.kubernetes.io/behavior": "{",
          "autoscaling.alpha.kubernetes.io/scale-up-tolerance": "1",
        },
      },
      spec: { scaleTargetRef: { kind: "ReplicationController", name: "c" }, maxReplicas: 5 },
    },
  },
]
