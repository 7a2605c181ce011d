/**
 * What each controller may do: the cluster role system:controller:NAME, bound to the service account kube-system/NAME.
 * Facts from upstream's plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go.
 */
import type { PolicyRule } from "../../../pkg/api/rbac/v1/rules.ts"
import { EVENTS, on, READ } from "./bootstrap-rules.ts"

const SIGNERS = "kubernetes.io/legacy-unknown kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving"

export const CONTROLLER_ROLES: Readonly<Record<string, readonly PolicyRule[]>> = {
  "attachdetach-controller": [
    on("list watch", "core", "persistentvolumes persistentvolumeclaims"), on(READ, "core", "nodes"), on("patch update", "core", "nodes/status"), on("list watch", "core", "pods"), EVENTS,
    on("get create delete list watch", "storage.k8s.io", "volumeattachments"), on(READ, "storage.k8s.io", "csidrivers csinodes"),
  ],
  "clusterrole-aggregation-controller": [on("escalate get list watch update patch", "rbac.authorization.k8s.io", "clusterroles")],
  "cronjob-controller": [
    on("get list watch update", "batch", "cronjobs"), on("get list watch create update delete patch", "batch", "jobs"), on("update", "batch", "cronjobs/status cronjobs/finalizers"), on("list watch delete", "core", "pods"), EVENTS,
  ],
  "daemon-set-controller": [
    on(READ, "extensions apps", "daemonsets"), on("update", "extensions apps", "daemonsets/status daemonsets/finalizers"), on("list watch", "core", "nodes"), on("list watch create delete patch", "core", "pods"),
    on("create", "core", "pods/binding"), on("get list watch create delete update patch", "apps", "controllerrevisions"), EVENTS,
  ],
  "deployment-controller": [
    on("get list watch update", "extensions apps", "deployments"), on("update", "extensions apps", "deployments/status deployments/finalizers"),
    on("get list watch create update patch delete", "apps extensions", "replicasets"), on("get list watch update", "core", "pods"), EVENTS,
  ],
  "disruption-controller": [
    on(READ, "extensions apps", "deployments replicasets"), on(READ, "core", "replicationcontrollers"), on(READ, "policy", "poddisruptionbudgets"), on(READ, "apps", "statefulsets"),
    on("update", "policy", "poddisruptionbudgets/status"), on("patch update", "core", "pods/status"), on("get", "*", "*/scale"), EVENTS,
  ],
  "endpoint-controller": [on(READ, "core", "services pods"), on("get list watch create update delete", "core", "endpoints"), on("create", "core", "endpoints/restricted"), EVENTS],
  "endpointslice-controller": [on(READ, "core", "services pods nodes"), on("update", "core", "services/finalizers"), on("get list watch create update delete", "discovery.k8s.io", "endpointslices"), on("create", "discovery.k8s.io", "endpointslices/restricted"), EVENTS],
  "endpointslicemirroring-controller": [
    on(READ, "core", "services endpoints"), on("update", "core", "services/finalizers endpoints/finalizers"), on("get list watch create update delete", "discovery.k8s.io", "endpointslices"), on("create", "discovery.k8s.io", "endpointslices/restricted"), EVENTS,
  ],
  "expand-controller": [
    on("get list watch update patch", "core", "persistentvolumes"), on("update patch", "core", "persistentvolumeclaims/status"), on(READ, "core", "persistentvolumeclaims"), EVENTS,
  ],
  "ephemeral-volume-controller": [on(READ, "core", "pods"), on("update", "core", "pods/finalizers"), on("get list watch create", "core", "persistentvolumeclaims"), EVENTS],
  "resource-claim-controller": [
    on(READ, "core", "pods"), on("update", "core", "pods/finalizers"), on("get list watch create delete", "resource.k8s.io", "resourceclaims"),
    on("update patch", "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaims/binding"), on("update patch", "core", "pods/status"), EVENTS,
  ],
  "device-taint-eviction-controller": [on("get list watch delete", "core", "pods"), on("update patch", "core", "pods/status"), on(READ, "resource.k8s.io", "resourceclaims resourceslices deviceclasses"), EVENTS],
  "generic-garbage-collector": [on("get list watch patch update delete", "*", "*"), EVENTS],
  "horizontal-pod-autoscaler": [
    on(READ, "autoscaling", "horizontalpodautoscalers"), on("update", "autoscaling", "horizontalpodautoscalers/status"), on("get update", "*", "*/scale"), on("list watch", "core", "pods"),
    on("list watch", "metrics.k8s.io", "pods"), on(READ, "custom.metrics.k8s.io", "*"), on(READ, "external.metrics.k8s.io", "*"), EVENTS,
  ],
  "job-controller": [on("get list watch update patch", "batch", "jobs"), on("update", "batch", "jobs/status jobs/finalizers"), on("list watch create delete patch", "core", "pods"), EVENTS],
  "namespace-controller": [on("get list watch delete", "core", "namespaces"), on("update", "core", "namespaces/finalize namespaces/status"), on("get list watch delete deletecollection", "*", "*")],
  "node-controller": [
    on("get list watch update delete patch", "core", "nodes"), on("patch update", "core", "nodes/status"), on("patch update", "core", "pods/status"), on("list watch get delete", "core", "pods"), EVENTS,
  ],
  "persistent-volume-binder": [
    on("get list watch update create delete", "core", "persistentvolumes"), on("update", "core", "persistentvolumes/status persistentvolumeclaims/status"), on("get list watch update", "core", "persistentvolumeclaims"),
    on("list watch get create delete", "core", "pods"), on(READ, "storage.k8s.io", "storageclasses"), on("list watch", "core", "nodes"), EVENTS, on("watch", "core", "events"),
  ],
  "pod-garbage-collector": [on("list watch delete", "core", "pods"), on(READ, "core", "nodes"), on("patch", "core", "pods/status")],
  "replicaset-controller": [
    on("get list watch update", "apps extensions", "replicasets"), on("update", "apps extensions", "replicasets/status replicasets/finalizers"), on("list watch patch create delete", "core", "pods"), EVENTS,
  ],
  "replication-controller": [
    on("get list watch update", "core", "replicationcontrollers"), on("update", "core", "replicationcontrollers/status replicationcontrollers/finalizers"), on("list watch patch create delete", "core", "pods"), EVENTS,
  ],
  "resourcequota-controller": [on("list watch", "*", "*"), on("update", "core", "resourcequotas/status"), EVENTS],
  "route-controller": [on("list watch", "core", "nodes"), on("patch", "core", "nodes/status"), EVENTS],
  "service-account-controller": [on("create", "core", "serviceaccounts"), EVENTS],
  "service-controller": [on(READ, "core", "services"), on("patch update", "core", "services/status"), on("list watch", "core", "nodes"), EVENTS],
  "service-cidrs-controller": [
    on("get list watch patch update", "networking.k8s.io", "servicecidrs"), on("patch update", "networking.k8s.io", "servicecidrs/finalizers servicecidrs/status"), on(READ, "networking.k8s.io", "ipaddresses"), EVENTS,
  ],
  "statefulset-controller": [
    on("list watch", "core", "pods"), on(READ, "apps", "statefulsets"), on("update", "apps", "statefulsets/status statefulsets/finalizers"), on("get create delete update patch", "core", "pods"),
    on("get create delete update patch list watch", "apps", "controllerrevisions"), on("get create list watch update delete", "core", "persistentvolumeclaims"), on("update", "core", "pods/finalizers"), EVENTS,
  ],
  "ttl-controller": [on("update patch list watch", "core", "nodes"), EVENTS],
  "certificate-controller": [
    on("get list watch delete", "certificates.k8s.io", "certificatesigningrequests"), on("update", "certificates.k8s.io", "certificatesigningrequests/status certificatesigningrequests/approval"),
    on("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client-kubelet"), on("sign", "certificates.k8s.io", "signers", SIGNERS), on("create", "authorization.k8s.io", "subjectaccessreviews"), EVENTS,
  ],
  "pvc-protection-controller": [on("get list watch update", "core", "persistentvolumeclaims"), on("update", "core", "persistentvolumeclaims/status"), on("list watch get", "core", "pods"), EVENTS],
  "pv-protection-controller": [on("get list watch update", "core", "persistentvolumes"), EVENTS],
  "volumeattributesclass-protection-controller": [on(READ, "core", "persistentvolumeclaims persistentvolumes"), on("get list watch update", "storage.k8s.io", "volumeattributesclasses"), EVENTS],
  "ttl-after-finished-controller": [on("get list watch delete", "batch", "jobs"), EVENTS],
  "root-ca-cert-publisher": [on("create update", "core", "configmaps"), EVENTS],
  "validatingadmissionpolicy-status-controller": [
    on(READ, "admissionregistration.k8s.io", "validatingadmissionpolicies"), on("get patch update", "admissionregistration.k8s.io", "validatingadmissionpolicies/status"), EVENTS,
  ],
  "legacy-service-account-token-cleaner": [on("get", "core", "configmaps", "kube-apiserver-legacy-service-account-token-tracking"), on("patch delete", "core", "secrets")],
  "selinux-warning-controller": [EVENTS, on(READ, "core", "persistentvolumes persistentvolumeclaims pods"), on(READ, "storage.k8s.io", "csidrivers")],
}
