import type { ReceivedSpan } from "./otlp-receiver.ts"

/** The trace in which the test applies, and its own span there. */
export const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
export const traceparent = `00-${TRACE_ID}-00f067aa0ba902b7-01`

const labels = { app: "web" }
/** What is applied: a Deployment with a Service. */
export const APPLIED = [
  {
    path: "/api/v1/namespaces/default/services/web",
    object: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { selector: labels, ports: [{ port: 80 }] },
    },
  },
  {
    path: "/apis/apps/v1/namespaces/default/deployments/web",
    object: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx" }] } },
      },
    },
  },
]

/** The phases from apply to a ready pod and its endpoint, as `service: span`. */
export const APPLY_PHASES = [
  "apiserver: PATCH /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}",
  "apiserver: Patch",
  "apiserver: Mutating admission",
  "apiserver: Validating admission",
  "apiserver: Create etcd3",
  "kube-controller-manager: deployment-controller reconcile",
  "apiserver: POST /apis/apps/v1/namespaces/{:namespace}/replicasets",
  "kube-controller-manager: replicaset-controller reconcile",
  "apiserver: POST /api/v1/namespaces/{:namespace}/pods",
  "kube-scheduler: Schedule pod",
  "kube-scheduler: Scheduling cycle",
  "kube-scheduler: Binding cycle",
  "apiserver: POST /api/v1/namespaces/{:namespace}/pods/{:name}/binding",
  "kubelet: syncPod",
  "kubelet: Admit pod",
  "kubelet: Mount volumes",
  "kubelet: Create sandbox",
  "kubelet: runtime.v1.RuntimeService/RunPodSandbox",
  "kubelet: Start container",
  "kubelet: runtime.v1.ImageService/PullImage",
  "kubelet: runtime.v1.RuntimeService/CreateContainer",
  "kubelet: runtime.v1.RuntimeService/StartContainer",
  "kubelet: Write pod status",
  "apiserver: PATCH /api/v1/namespaces/{:namespace}/pods/{:name}/status",
  "kube-controller-manager: endpointslice-controller reconcile",
  "apiserver: POST /apis/discovery.k8s.io/v1/namespaces/{:namespace}/endpointslices",
  "apiserver: PUT /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}/status",
]

/** Whether the last phase of the trace is there: the Deployment's status shows the ready pod. */
export function untilReady(spans: readonly ReceivedSpan[]): boolean {
  const own = spans.filter(({ traceId }) => traceId === TRACE_ID)
  const names = new Set(own.map(({ service, name }) => `${service}: ${name}`))
  return APPLY_PHASES.every((phase) => names.has(phase)) && statusWritten(own)
}

/** Whether the controllers wrote the Deployment's status after the kubelet wrote the pod's. */
function statusWritten(spans: readonly ReceivedSpan[]): boolean {
  const written = spans.findLast(({ name }) => name.endsWith("/pods/{:name}/status"))
  const told = spans.findLast(({ name }) => name.startsWith("PUT") && name.endsWith("/deployments/{:name}/status"))
  return written !== undefined && told !== undefined && told.start > written.start
}
