import { programImage } from "../program-image.ts"
import type { Program } from "../program.ts"

/** After its documentation: its rights, its configuration with the pod that makes folders, and its class. */
const MANIFEST = `apiVersion: v1
kind: Namespace
metadata: { name: local-path-storage }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: provisioner, namespace: local-path-storage }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: local-path-provisioner }
rules:
  - { apiGroups: [""], resources: [nodes, persistentvolumeclaims, configmaps, pods, pods/log], verbs: [get, list, watch] }
  - { apiGroups: [""], resources: [persistentvolumes], verbs: [get, list, watch, create, patch, update, delete] }
  - { apiGroups: [""], resources: [events], verbs: [create, patch] }
  - { apiGroups: [storage.k8s.io], resources: [storageclasses], verbs: [get, list, watch] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: local-path-provisioner }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: local-path-provisioner }
subjects: [{ kind: ServiceAccount, name: provisioner, namespace: local-path-storage }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: provisioner, namespace: local-path-storage }
rules: [{ apiGroups: [""], resources: [pods], verbs: [get, list, watch, create, patch, update, delete] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: provisioner, namespace: local-path-storage }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: provisioner }
subjects: [{ kind: ServiceAccount, name: provisioner, namespace: local-path-storage }]
---
apiVersion: v1
kind: ConfigMap
metadata: { name: local-path-config, namespace: local-path-storage }
data:
  config.json: '{"nodePathMap":[{"node":"DEFAULT_PATH_FOR_NON_LISTED_NODES","paths":["/opt/local-path-provisioner"]}]}'
  setup: |
    #!/bin/sh
    set -eu
    mkdir -m 0777 -p "$VOL_DIR"
  teardown: |
    #!/bin/sh
    set -eu
    rm -rf "$VOL_DIR"
  helperPod.yaml: |
    apiVersion: v1
    kind: Pod
    metadata: { name: helper-pod }
    spec:
      tolerations: [{ key: node.kubernetes.io/disk-pressure, operator: Exists, effect: NoSchedule }]
      containers: [{ name: helper-pod, image: "k3ts.local/busybox:1", imagePullPolicy: IfNotPresent }]
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: provisioner, namespace: local-path-storage }
spec:
  selector: { matchLabels: { app: provisioner } }
  template:
    metadata: { labels: { app: provisioner } }
    spec:
      serviceAccountName: provisioner
      containers:
        - name: provisioner
          image: docker.io/rancher/local-path-provisioner:v0.0.30
          command: [local-path-provisioner, start, --config, /etc/config/config.json, --service-account-name, provisioner]
          env: [{ name: POD_NAMESPACE, valueFrom: { fieldRef: { fieldPath: metadata.namespace } } }]
          volumeMounts: [{ name: config, mountPath: /etc/config }]
      volumes: [{ name: config, configMap: { name: local-path-config } }]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: { name: local-path }
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
reclaimPolicy: Delete
`

const APPLICATION = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec: { accessModes: [ReadWriteOnce], storageClassName: local-path, resources: { requests: { storage: 10Mi } } }
---
apiVersion: v1
kind: Pod
metadata: { name: writer }
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: writer
      image: k3ts.local/busybox:1
      command: [sh, -c, "date >> /data/dates; exec sleep 3600"]
      volumeMounts: [{ name: data, mountPath: /data }]
  volumes: [{ name: data, persistentVolumeClaim: { claimName: data } }]
`

export const localPath: Program = {
  name: "local-path-provisioner",
  from: [
    {
      kind: "go",
      module: "github.com/rancher/local-path-provisioner",
      version: "v0.0.30",
      sum: "h1:OkiuofkCSscddl7tma/B9Ox1wu+JEVSrP7IcZI65Ggo=",
      program: "local-path-provisioner",
    },
  ],
  shows:
    "in place of k3ts' own class of that name: a claim waits for its first pod, its pods make and remove the folder, the data outlive a pod, the volume goes with the claim",
  on: "node",
  flags: ["--disable", "local-storage"],
  images: (had) => [
    programImage({
      name: "docker.io/rancher/local-path-provisioner:v0.0.30",
      program: had.program("local-path-provisioner"),
      as: "local-path-provisioner",
    }),
  ],
  async run(at) {
    at.write("provisioner.yaml", MANIFEST)
    at.write("application.yaml", APPLICATION)
    await at.step(
      "Installing",
      150,
      `same '' "$(kubectl get storageclass local-path -o name --ignore-not-found)"
kubectl apply -f provisioner.yaml
kubectl -n local-path-storage rollout status deployment/provisioner --timeout=90s`,
    )
    await at.step(
      "Using a claim",
      150,
      `kubectl apply -f application.yaml
kubectl wait pod writer --for=condition=Ready --timeout=90s
same Bound "$(kubectl get pvc data -o jsonpath='{.status.phase}')"
kubectl delete pod writer --timeout=30s
kubectl apply -f application.yaml
kubectl wait pod writer --for=condition=Ready --timeout=90s
same 2 "$(kubectl exec writer -- cat /data/dates | wc -l)"`,
    )
    await at.step(
      "Deleting",
      180,
      `kubectl delete -f application.yaml --timeout=60s
until_true 90 sh -c '[ -z "$(kubectl get pv -o name)" ]'
kubectl delete -f provisioner.yaml --timeout=90s`,
    )
  },
}
