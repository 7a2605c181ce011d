import { deployment, pod, type Situation } from "./situation.fixtures.ts"

/** What programs and kubelets of real nodes say, which differs from what one would write down. */
const web = deployment("web", `{containers: [{name: c, image: "app:1"}]}`)
const withProbe = (probe: string): string => deployment("web", `{containers: [{name: c, image: "app:1", ${probe}}]}`)

const quits = (exitCode: number, ...logs: readonly string[]) => ({
  nodes: 1,
  images: { "app:1": { runsMs: 100, exitCode, logs } },
})
/** Ends with success when it is told to stop. */
const polite = { onStop: { afterMs: 100, exitCode: 0 } } as const
const notThere = new Response("", { status: 404 })

export const REAL_NODES: readonly Situation[] = [
  {
    title: "a liveness probe that kills a program which then ends with success",
    yaml: withProbe("livenessProbe: {httpGet: {path: /healthz, port: 80}, periodSeconds: 3}"),
    ask: "deployment/web",
    cause: "liveness-probe-path",
    says: /liveness probe of container c asks for \/healthz, and the program answers 404/,
    options: { nodes: 1, images: { "app:1": { ...polite, http: () => notThere.clone() } } },
    after: "9m",
  },
  {
    title: "a program that ends with success by itself, sooner than its liveness probe could kill it",
    yaml: withProbe("livenessProbe: {tcpSocket: {port: 80}, periodSeconds: 10}"),
    ask: "deployment/web",
    cause: "command-ends",
    says: /ends with success, and Always restarts it/,
    options: { nodes: 1, images: { "app:1": { runsMs: 2000 } } },
  },
  {
    title: "a postStart hook that fails, of a program which then ends with success",
    yaml: withProbe("lifecycle: {postStart: {exec: {command: [register]}}}"),
    ask: "deployment/web",
    cause: "hook-failed",
    says: /its postStart hook fails: register/,
    options: { nodes: 1, images: { "app:1": { ...polite, exec: () => 1 } } },
    after: "9m",
  },
  {
    title: "a program of another processor that a shell runs",
    yaml: web,
    ask: "deployment/web",
    cause: "image-platform",
    says: /for another processor/,
    options: quits(126, "sh: line 1: /app: cannot execute binary file: Exec format error", "sh: line 1: /app: Success"),
  },
  {
    title: "a shell that connects to its own pod",
    yaml: web,
    ask: "deployment/web",
    cause: "connection-to-itself",
    says: /asks localhost:5432, which is its own pod/,
    options: quits(1, "sh: connect: Connection refused", "sh: line 1: /dev/tcp/localhost/5432: Connection refused"),
  },
  {
    title: "a client that does not tell at which port its own pod refuses it",
    yaml: web,
    ask: "deployment/web",
    cause: "connection-to-itself",
    says: /asks 127\.0\.0\.1, which is its own pod/,
    options: quits(1, "wget: can't connect to remote host (127.0.0.1): Connection refused"),
  },
  {
    title: "a probe whose program the image does not have",
    yaml: withProbe("readinessProbe: {exec: {command: [curl, -f, localhost]}, periodSeconds: 3}"),
    ask: "deployment/web",
    cause: "readiness-probe-command",
    says: /runs curl -f localhost, and the image has no program "curl", so it gets no requests/,
    options: {
      nodes: 1,
      images: {
        "app:1": {
          exec: () => ({
            exitCode: 127,
            stderr: 'OCI runtime exec failed: exec failed: exec: "curl": executable file not found in $PATH: unknown',
          }),
        },
      },
    },
  },
  {
    title: "a script with another name than the one in its ConfigMap",
    yaml: `
apiVersion: v1
kind: ConfigMap
metadata: {name: scripts}
data: {run.sh: ""}
${deployment("web", `{containers: [{name: c, image: "app:1", command: [/scripts/start.sh], volumeMounts: [{name: v, mountPath: /scripts}]}], volumes: [{name: v, configMap: {name: scripts}}]}`)}`,
    ask: "deployment/web",
    cause: "command-hidden",
    says: /\/scripts\/start\.sh is not there, because volume v \(ConfigMap scripts\), which has only run\.sh, is mounted at \/scripts/,
    options: {
      nodes: 1,
      images: {
        "app:1": {
          startError:
            'runc create failed: unable to start container process: exec: "/scripts/start.sh": stat /scripts/start.sh: no such file or directory: unknown',
        },
      },
    },
  },
  {
    title: "a pod that writes more than its volume may hold",
    yaml: pod("web", `{containers: [{name: c, image: "app:1"}]}`),
    ask: "pod/web",
    cause: "evicted-by-limit",
    says: /because it wrote more than it may: Usage of EmptyDir volume "v" exceeds the limit "10Mi"/,
    breaks: async (cluster) => {
      await cluster.faults.nodeLost("node-0")
      const status = {
        phase: "Failed",
        reason: "Evicted",
        message: 'Usage of EmptyDir volume "v" exceeds the limit "10Mi". ',
      }
      await cluster.kubectl(["patch", "pod", "web", "--subresource=status", "-p", JSON.stringify({ status })])
    },
    options: { nodes: 1 },
    after: "5s",
  },
]
