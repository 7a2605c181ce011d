import { deployment, type Situation } from "./situation.fixtures.ts"

const CONF = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web-config}
data: {log-level: info}
`

export const CONFIGURATION: readonly Situation[] = [
  {
    title: "a ConfigMap that does not exist",
    yaml:
      CONF +
      deployment("web", `{containers: [{name: c, image: "app:1", envFrom: [{configMapRef: {name: web-confg}}]}]}`),
    ask: "deployment/web",
    cause: "configmap-missing",
    says: /ConfigMap web-confg, which envFrom of container c needs, does not exist in namespace default; there is web-config/,
  },
  {
    title: "a key that a ConfigMap does not have",
    yaml:
      CONF +
      deployment(
        "web",
        `{containers: [{name: c, image: "app:1", env: [{name: L, valueFrom: {configMapKeyRef: {name: web-config, key: loglevel}}}]}]}`,
      ),
    ask: "deployment/web",
    cause: "configmap-key-missing",
    says: /has no key "loglevel", which variable L of container c needs; it has "log-level"/,
  },
  {
    title: "a Secret that does not exist",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", env: [{name: P, valueFrom: {secretKeyRef: {name: db, key: password}}}]}]}`,
    ),
    ask: "deployment/web",
    cause: "secret-missing",
    says: /Secret db, which variable P of container c needs, does not exist/,
  },
  {
    title: "a Secret that is in another namespace",
    yaml: `
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: v1
kind: Secret
metadata: {name: db, namespace: other}
stringData: {password: x}
${deployment("web", `{containers: [{name: c, image: "app:1", envFrom: [{secretRef: {name: db}}]}]}`)}`,
    ask: "deployment/web",
    cause: "secret-missing",
    says: /does not exist in namespace default, but in other/,
  },
  {
    title: "a volume of a ConfigMap that does not exist",
    yaml: deployment(
      "web",
      `{containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: /etc/x}]}], volumes: [{name: v, configMap: {name: files}}]}`,
    ),
    ask: "deployment/web",
    cause: "configmap-missing",
    says: /ConfigMap files, which volume v needs/,
  },
  {
    title: "a volume of a key that a Secret does not have",
    yaml: `
apiVersion: v1
kind: Secret
metadata: {name: tls}
stringData: {tls.crt: x}
${deployment(
  "web",
  `{containers: [{name: c, image: "app:1", volumeMounts: [{name: v, mountPath: /etc/x}]}], volumes: [{name: v, secret: {secretName: tls, items: [{key: tls.key, path: key}]}}]}`,
)}`,
    ask: "deployment/web",
    cause: "secret-key-missing",
    says: /Secret tls has no key "tls\.key", which volume v needs/,
  },
  {
    title: "an image that runs as root where that is forbidden",
    yaml: deployment("web", `{securityContext: {runAsNonRoot: true}, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "runs-as-root",
    says: /must not run as root \(runAsNonRoot\), and its image does/,
  },
]
