import type { Program } from "../program.ts"

/** An application as code: what its documentation shows, with a construct of one's own and a chart for each stage. */
const APP = `import { ApiObject, App, Chart, Duration, Include, JsonPatch, Lazy, Size, YamlOutputType } from "cdk8s"
import { Construct } from "constructs"

class Web extends Construct {
  constructor(scope, id, { replicas, message }) {
    super(scope, id)
    const labels = { app: id }
    const pages = new ApiObject(this, "pages", { apiVersion: "v1", kind: "ConfigMap", data: { "index.html": message } })
    const deployment = new ApiObject(this, "deployment", {
      apiVersion: "apps/v1",
      kind: "Deployment",
      spec: {
        replicas: Lazy.any({ produce: () => replicas }),
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [
              {
                name: "web",
                image: "k3ts.local/web:1",
                resources: { limits: { memory: Size.mebibytes(64).toMebibytes() + "Mi" } },
                readinessProbe: { httpGet: { path: "/", port: 80 }, periodSeconds: Duration.seconds(5).toSeconds() },
                volumeMounts: [{ name: "pages", mountPath: "/www" }],
              },
            ],
            volumes: [{ name: "pages", configMap: { name: pages.name } }],
          },
        },
      },
    })
    deployment.addJsonPatch(JsonPatch.add("/metadata/annotations", { "example.com/made-by": "cdk8s" }))
    new ApiObject(this, "service", {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: id },
      spec: { selector: labels, ports: [{ port: 80 }] },
    })
    deployment.addDependency(pages)
  }
}

const app = new App({ outdir: process.argv[2], yamlOutputType: YamlOutputType.FILE_PER_CHART })
const stages = { test: 1, prod: Number(process.argv[3]) }
for (const [namespace, replicas] of Object.entries(stages)) {
  const chart = new Chart(app, namespace, { namespace, labels: { stage: namespace, tool: "cdk8s" } })
  new Web(chart, "web", { replicas, message: process.argv[4] })
  if (process.argv[5] === "bounded") new Include(chart, "quota", { url: "quota.yaml" })
}
app.synth()
`

const QUOTA = `apiVersion: v1
kind: ResourceQuota
metadata: { name: quota }
spec: { hard: { pods: "10" } }
`

export const cdk8s: Program = {
  name: "cdk8s",
  from: [
    {
      kind: "npm",
      package: "cdk8s",
      version: "2.70.106",
      integrity: "sha512-qCJ8A3CqxE7Mh1A4Eq2G0undNqNTGiq4qTtI3OAMz4ksJi0SHZMVZdnfmuU1xslluSJHUJoMLo/o1g/fu+VJjw==",
    },
  ],
  shows:
    "an application as code, for two stages: what it synthesizes is applied with `--prune`, shows no difference, is changed and read back, and what the code has no more goes",
  on: "node",
  async run(at) {
    at.write("app.mjs", APP)
    at.write("quota.yaml", QUOTA)
    const synth = `[ -e node_modules ] || ln -s ${at.had.folder("cdk8s")}/node_modules node_modules
apply() { kubectl apply -f "$1" --prune -l tool=cdk8s $(printf -- " --prune-allowlist=%s" core/v1/ConfigMap apps/v1/Deployment core/v1/Service core/v1/ResourceQuota); }
`
    await at.step(
      "Synthesizing and applying",
      150,
      `${synth}for stage in test prod; do kubectl create namespace $stage; done
node app.mjs first 2 hello bounded
same "$(printf 'prod.k8s.yaml\\ntest.k8s.yaml')" "$(ls first)"
kubectl apply --dry-run=server --validate=strict -f first
apply first
for stage in test prod; do kubectl -n $stage rollout status deployment -l stage=$stage --timeout=90s; done
kubectl diff -f first
same cdk8s "$(kubectl -n prod get deployment -o jsonpath='{.items[0].metadata.annotations.example\\.com/made-by}')"
same hello "$(kubectl get --raw /api/v1/namespaces/prod/services/web/proxy/)"`,
    )
    await at.step(
      "Changing, and pruning",
      150,
      `${synth}node app.mjs second 3 world
kubectl diff -f second && fail 'no difference'
apply second
kubectl -n prod rollout status deployment -l stage=prod --timeout=90s
same 3 "$(kubectl -n prod get deployment -o jsonpath='{.items[0].status.readyReplicas}')"
for stage in test prod; do
  same '' "$(kubectl -n $stage get resourcequotas -o name)"
  same service/web "$(kubectl -n $stage get services -o name)"
done`,
    )
    await at.step("Deleting", 120, "kubectl delete namespace test prod --timeout=100s")
  },
}
