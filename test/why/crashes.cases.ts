import { deployment, pod, type Situation } from "./situation.fixtures.ts"

const web = deployment("web", `{containers: [{name: c, image: "app:1"}]}`)

export const CRASHES: readonly Situation[] = [
  {
    title: "a program that ends with an error",
    yaml: web,
    ask: "deployment/web",
    cause: "exits-with-error",
    says: /exit code 3; its last line: cannot parse config/,
    options: { nodes: 1, images: { "app:1": { runsMs: 500, exitCode: 3, logs: ["starting", "cannot parse config"] } } },
  },
  {
    title: "a program that needs more memory than its limit",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", resources: {limits: {memory: 64Mi}}}]}`),
    ask: "deployment/web",
    cause: "oom-killed",
    says: /used more than its memory limit of 64Mi/,
    options: { nodes: 1, images: { "app:1": { memoryBytes: 100 * 2 ** 20 } } },
  },
  {
    title: "a command that ends with success",
    yaml: web,
    ask: "deployment/web",
    cause: "command-ends",
    says: /ends with success, and Always restarts it/,
    options: { nodes: 1, images: { "app:1": { runsMs: 500, exitCode: 0 } } },
  },
  {
    title: "a command that the image does not have",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", command: [/bin/serve]}]}`),
    ask: "deployment/web",
    cause: "command-not-found",
    says: /the image has no program "\/bin\/serve"/,
    options: {
      nodes: 1,
      images: {
        "app:1": {
          startError:
            'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "/bin/serve": stat /bin/serve: no such file or directory: unknown',
        },
      },
    },
  },
  {
    title: "a program of another processor",
    yaml: web,
    ask: "deployment/web",
    cause: "image-platform",
    says: /for another processor/,
    options: {
      nodes: 1,
      images: { "app:1": { startError: "OCI runtime create failed: exec /app: exec format error: unknown" } },
    },
  },
  {
    title: "a shell that does not find its command",
    yaml: web,
    ask: "deployment/web",
    cause: "command-not-found",
    says: /exit code 127/,
    options: { nodes: 1, images: { "app:1": { runsMs: 10, exitCode: 127, logs: ["sh: 1: servr: not found"] } } },
  },
  {
    title: "a program that accesses wrong memory",
    yaml: web,
    ask: "deployment/web",
    cause: "ended-by-signal",
    says: /SIGSEGV/,
    options: { nodes: 1, images: { "app:1": { runsMs: 10, exitCode: 139 } } },
  },
  {
    title: "a port that is taken by the other container of the pod",
    yaml: deployment("web", `{containers: [{name: a, image: "side:1"}, {name: b, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "address-in-use",
    says: /container b cannot listen/,
    options: {
      nodes: 1,
      images: { "app:1": { runsMs: 10, exitCode: 1, logs: ["listen tcp :8080: bind: address already in use"] } },
    },
  },
  {
    title: "a program that writes on a read-only root",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", securityContext: {readOnlyRootFilesystem: true}}]}`,
    ),
    ask: "deployment/web",
    cause: "read-only-file-system",
    says: /file system is read-only/,
    options: {
      nodes: 1,
      images: { "app:1": { runsMs: 10, exitCode: 1, logs: ["open /var/cache/x: read-only file system"] } },
    },
  },
  {
    title: "an init container that fails",
    yaml: deployment(
      "web",
      `{initContainers: [{name: migrate, image: "migrate:1"}], containers: [{name: c, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    cause: "exits-with-error",
    says: /program of init container migrate ends with exit code 2; its last line: no such table/,
    options: { nodes: 1, images: { "migrate:1": { runsMs: 10, exitCode: 2, logs: ["no such table"] } } },
  },
  {
    title: "an init container that waits for something",
    yaml: deployment(
      "web",
      `{initContainers: [{name: wait, image: "wait:1"}], containers: [{name: c, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    cause: "init-container-runs",
    says: /init container wait runs for 3m/,
  },
  {
    title: "a sidecar that is not ready",
    yaml: deployment(
      "web",
      `{initContainers: [{name: proxy, image: "proxy:1", restartPolicy: Always, ports: [{containerPort: 15000}], startupProbe: {httpGet: {port: 15000, path: /up}}}], containers: [{name: c, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    cause: "startup-probe-status",
    says: /startup probe of sidecar proxy asks for \/up, and the program answers 503/,
    options: { nodes: 1, images: { "proxy:1": { http: () => new Response("no", { status: 503 }) } } },
  },
  {
    title: "a liveness probe that kills the container",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80}], livenessProbe: {httpGet: {port: 80, path: /health}}}]}`,
    ),
    ask: "deployment/web",
    cause: "liveness-probe-path",
    says: /liveness probe of container c asks for \/health, and the program answers 404/,
    options: { nodes: 1, images: { "app:1": { http: () => new Response("", { status: 404 }) } } },
  },
  {
    title: "a readiness probe with another port than the program's",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80}], readinessProbe: {httpGet: {port: 8080}}}]}`,
    ),
    ask: "deployment/web",
    cause: "readiness-probe-port",
    says: /asks port 8080, on which nothing listens; the container declares 80/,
    mends: 1,
    tried: "not-known",
    options: {
      nodes: 1,
      images: {
        "app:1": {
          http(request) {
            if (new URL(request.url).port === "8080")
              throw Object.assign(new Error("connect: connection refused"), { code: "ECONNREFUSED" })
            return new Response("ok")
          },
        },
      },
    },
  },
  {
    title: "a readiness probe whose port has a name that the container does not know",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", ports: [{name: http, containerPort: 80}], readinessProbe: {httpGet: {port: web}}}]}`,
    ),
    ask: "deployment/web",
    cause: "readiness-probe-port-name",
    says: /asks port "web", and the container has no port of this name, but http \(80\)/,
  },
  {
    title: "a program that says that it is not ready",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80}], readinessProbe: {httpGet: {port: 80, path: /ready}}}]}`,
    ),
    ask: "deployment/web",
    cause: "readiness-probe-status",
    says: /answers 503: it says that it is not well/,
    options: { nodes: 1, images: { "app:1": { http: () => new Response("no", { status: 503 }) } } },
  },
  {
    title: "a readiness probe whose command fails",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", readinessProbe: {exec: {command: [check, db]}}}]}`,
    ),
    ask: "deployment/web",
    cause: "readiness-probe-command",
    says: /runs check db, which fails: no database/,
    options: { nodes: 1, images: { "app:1": { exec: () => ({ exitCode: 1, stdout: "no database" }) } } },
  },
  {
    title: "a pod that failed and is not restarted",
    yaml: pod("task", `{restartPolicy: Never, containers: [{name: c, image: "app:1"}]}`),
    ask: "pod/task",
    cause: "exits-with-error",
    says: /exit code 9; its last line: bad input/,
    options: { nodes: 1, images: { "app:1": { runsMs: 10, exitCode: 9, logs: ["bad input"] } } },
  },
  {
    title: "a pod that ran longer than it may",
    yaml: pod("task", `{activeDeadlineSeconds: 60, containers: [{name: c, image: "app:1"}]}`),
    ask: "pod/task",
    cause: "pod-deadline",
    says: /longer than its activeDeadlineSeconds/,
  },
  {
    title: "a readiness gate that nobody sets",
    yaml: deployment(
      "web",
      `{readinessGates: [{conditionType: example.com/lb}], containers: [{name: c, image: "app:1"}]}`,
    ),
    ask: "deployment/web",
    cause: "readiness-gate",
    says: /readiness gate example\.com\/lb is not set/,
  },

  {
    title: "a postStart hook that fails, so that the container is stopped",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", lifecycle: {postStart: {exec: {command: [register, now]}}}}]}`,
    ),
    ask: "deployment/web",
    cause: "hook-failed",
    says: /container c is ended, because its postStart hook fails: register now/,
    options: { nodes: 1, images: { "app:1": { exec: () => ({ exitCode: 3, stderr: "no registry" }) } } },
  },
  {
    title: "a file of a subPath that its ConfigMap does not have",
    yaml: `
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {app.yaml: x}
${deployment(
  "web",
  `{containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: /etc/app.conf, subPath: app.conf}]}], volumes: [{name: v, configMap: {name: conf}}]}`,
)}`,
    ask: "deployment/web",
    cause: "subpath-missing",
    says: /\/etc\/app\.conf wants the file app\.conf \(subPath\), volume v \(ConfigMap conf\) has only app\.yaml/,
    options: {
      nodes: 1,
      images: {
        "app:1": {
          startError:
            'OCI runtime create failed: runc create failed: unable to start container process: error during container init: error mounting "/var/lib/kubelet/pods/x/volume-subpaths/v/c/0" to rootfs at "/etc/app.conf": not a directory: unknown: Are you trying to mount a directory onto a file (or vice-versa)?',
        },
      },
    },
  },
  {
    title: "a command that is written as one word",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1", command: ["serve --port 80"]}]}`),
    ask: "deployment/web",
    cause: "command-not-found",
    says: /the image has no program "serve --port 80"/,
    options: {
      nodes: 1,
      images: {
        "app:1": {
          startError:
            'unable to start container process: error during container init: exec: "serve --port 80": executable file not found in $PATH: unknown',
        },
      },
    },
  },
  {
    title: "a program that may not listen below port 1024",
    yaml: deployment("web", `{securityContext: {runAsUser: 101}, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "port-not-allowed",
    says: /ports below 1024 need root/,
    options: {
      nodes: 1,
      images: {
        "app:1": {
          runsMs: 10,
          exitCode: 1,
          logs: ["nginx: [emerg] bind() to 0.0.0.0:80 failed (13: Permission denied)"],
        },
      },
    },
  },
  {
    title: "a program that wants a token which its pod does not have",
    yaml: deployment("web", `{automountServiceAccountToken: false, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "token-not-mounted",
    says: /automountServiceAccountToken of the pod is false/,
    options: {
      nodes: 1,
      images: {
        "app:1": {
          runsMs: 10,
          exitCode: 1,
          logs: ["open /var/run/secrets/kubernetes.io/serviceaccount/token: no such file or directory"],
        },
      },
    },
  },
  {
    title: "a program that starts more slowly than its liveness probe waits",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80}], livenessProbe: {httpGet: {port: 80}, periodSeconds: 5}}]}`,
    ),
    ask: "deployment/web",
    cause: "liveness-probe-refused",
    says: /the liveness probe of container c asks port 80, on which nothing listens: .* not yet, so it is killed/,
    options: { nodes: 1, images: { "app:1": { listensAfterMs: 60_000 } } },
  },
  {
    title: "a probe that speaks HTTPS with a program that speaks HTTP",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80}], readinessProbe: {httpGet: {port: 80, path: /up, scheme: HTTPS}}}]}`,
    ),
    ask: "deployment/web",
    cause: "readiness-probe-scheme",
    says: /speaks HTTPS with a port that speaks HTTP/,
    mends: 1,
    tried: "not-known",
    options: {
      nodes: 1,
      images: {
        "app:1": {
          http(request) {
            if (request.url.startsWith("https:")) throw new Error("http: server gave HTTP response to HTTPS client")
            return new Response("ok", { status: request.url.endsWith("/up") ? 200 : 404 })
          },
        },
      },
    },
  },
  {
    title: "a program that says over gRPC that it does not serve",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", ports: [{containerPort: 80}], readinessProbe: {grpc: {port: 80}}}]}`,
    ),
    ask: "deployment/web",
    cause: "readiness-probe-status",
    says: /asks gRPC for its health, and the program answers NOT_SERVING/,
    options: { nodes: 1, images: { "app:1": { grpc: () => "NOT_SERVING" } } },
  },
]
