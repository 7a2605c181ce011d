import { expect, test } from "bun:test"
import { tableOf } from "../apimachinery/table/table.ts"
import { RESOURCES } from "./resources.ts"

/**
 * Columns of each kind as a Kubernetes 1.36 server returns them: name, `:type` where it is no string, `(format)`, and
 * `*` for those that only `-o wide` shows.
 */
const COLUMNS: Readonly<Record<string, string>> = {
  "v1/configmaps": "Name(name) | Data | Age",
  "v1/secrets": "Name(name) | Type | Data | Age",
  "v1/serviceaccounts": "Name(name) | Age",
  "v1/pods": "Name(name) | Ready | Status | Restarts | Age | IP* | Node* | Nominated Node* | Readiness Gates*",
  "v1/podtemplates": "Name(name) | Containers | Images | Pod Labels",
  "v1/replicationcontrollers":
    "Name(name) | Desired:integer | Current:integer | Ready:integer | Age | Containers* | Images* | Selector*",
  "v1/services": "Name(name) | Type | Cluster-IP | External-IP | Port(s) | Age | Selector*",
  "v1/endpoints": "Name(name) | Endpoints | Age",
  "v1/events":
    "Last Seen | Type | Reason | Object | Subobject* | Source* | Message | First Seen* | Count* | Name(name)*",
  "apiregistration.k8s.io/v1/apiservices": "Name(name) | Service | Available | Age",
  "apiextensions.k8s.io/v1/customresourcedefinitions": "Name(name) | Created At:date",
  "v1/limitranges": "Name(name) | Created At:date",
  "v1/resourcequotas": "Name(name) | Request | Limit | Age",
  "v1/persistentvolumeclaims":
    "Name(name) | Status | Volume | Capacity | Access Modes | StorageClass | VolumeAttributesClass | Age | VolumeMode*",
  "v1/persistentvolumes":
    "Name(name) | Capacity | Access Modes | Reclaim Policy | Status | Claim | StorageClass | " +
    "VolumeAttributesClass | Reason | Age | VolumeMode*",
  "v1/nodes":
    "Name(name) | Status | Roles | Age | Version | Internal-IP* | External-IP* | OS-Image* | Kernel-Version* " +
    "| Container-Runtime*",
  "v1/namespaces": "Name(name) | Status | Age",
  "apps/v1/deployments": "Name(name) | Ready | Up-to-date | Available | Age | Containers* | Images* | Selector*",
  "apps/v1/replicasets":
    "Name(name) | Desired:integer | Current:integer | Ready:integer | Age | Containers* | Images* | Selector*",
  "apps/v1/statefulsets": "Name(name) | Ready | Age | Containers* | Images*",
  "apps/v1/daemonsets":
    "Name(name) | Desired:integer | Current:integer | Ready:integer | Up-to-date:integer | Available:integer " +
    "| Node Selector | Age | Containers* | Images* | Selector*",
  "apps/v1/controllerrevisions": "Name(name) | Controller | Revision | Age",
  "autoscaling/v1/horizontalpodautoscalers": "Name(name) | Reference | Targets | MinPods | MaxPods | Replicas | Age",
  "autoscaling/v2/horizontalpodautoscalers": "Name(name) | Reference | Targets | MinPods | MaxPods | Replicas | Age",
  "batch/v1/jobs": "Name(name) | Status | Completions | Duration | Age | Containers* | Images* | Selector*",
  "batch/v1/cronjobs":
    "Name(name) | Schedule | Timezone | Suspend:boolean | Active:integer | Last Schedule | Age | Containers* " +
    "| Images* | Selector*",
  "certificates.k8s.io/v1/certificatesigningrequests":
    "Name(name) | Age | SignerName | Requestor | RequestedDuration | Condition",
  "networking.k8s.io/v1/ingresses": "Name(name) | Class | Hosts | Address | Ports | Age",
  "networking.k8s.io/v1/ingressclasses": "Name(name) | Controller | Parameters | Age",
  "networking.k8s.io/v1/networkpolicies": "Name(name) | Pod-Selector | Age",
  "networking.k8s.io/v1/servicecidrs": "Name(name) | CIDRs | Age",
  "networking.k8s.io/v1/ipaddresses": "Name(name) | ParentRef",
  "policy/v1/poddisruptionbudgets": "Name(name) | Min Available | Max Unavailable | Allowed Disruptions:integer | Age",
  "rbac.authorization.k8s.io/v1/roles": "Name(name) | Created At:date",
  "rbac.authorization.k8s.io/v1/clusterroles": "Name(name) | Created At:date",
  "rbac.authorization.k8s.io/v1/rolebindings": "Name(name) | Role | Age | Users* | Groups* | ServiceAccounts*",
  "rbac.authorization.k8s.io/v1/clusterrolebindings": "Name(name) | Role | Age | Users* | Groups* | ServiceAccounts*",
  "storage.k8s.io/v1/storageclasses":
    "Name(name) | Provisioner | ReclaimPolicy | VolumeBindingMode | AllowVolumeExpansion | Age",
  "storage.k8s.io/v1/csidrivers":
    "Name(name) | AttachRequired:boolean | PodInfoOnMount:boolean | StorageCapacity:boolean | TokenRequests | " +
    "RequiresRepublish:boolean | Modes | Age",
  "storage.k8s.io/v1/csinodes": "Name(name) | Drivers:integer | Age",
  "storage.k8s.io/v1/csistoragecapacities": "Name(name) | Created At:date",
  "storage.k8s.io/v1/volumeattachments": "Name(name) | Attacher(name) | PV | Node | Attached:boolean | Age",
  "storage.k8s.io/v1/volumeattributesclasses": "Name(name) | DriverName | Age",
  "admissionregistration.k8s.io/v1/mutatingadmissionpolicies": "Name(name) | Mutations:integer | ParamKind | Age",
  "admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings": "Name(name) | PolicyName | ParamRef | Age",
  "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": "Name(name) | Webhooks:integer | Age",
  "admissionregistration.k8s.io/v1/validatingadmissionpolicies": "Name(name) | Validations:integer | ParamKind | Age",
  "admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": "Name(name) | PolicyName | ParamRef | Age",
  "admissionregistration.k8s.io/v1/validatingwebhookconfigurations": "Name(name) | Webhooks:integer | Age",
  "resource.k8s.io/v1/deviceclasses": "Name(name) | Age",
  "resource.k8s.io/v1/resourceclaims": "Name(name) | State | Age",
  "resource.k8s.io/v1/resourceclaimtemplates": "Name(name) | Age",
  "resource.k8s.io/v1/resourceslices": "Name(name) | Node | Driver | Pool | Age",
  "scheduling.k8s.io/v1/priorityclasses":
    "Name(name) | Value:integer | Global-Default:boolean | Age | PreemptionPolicy",
  "node.k8s.io/v1/runtimeclasses": "Name(name) | Handler | Age",
  "discovery.k8s.io/v1/endpointslices": "Name(name) | AddressType | Ports | Endpoints | Age",
  "coordination.k8s.io/v1/leases": "Name(name) | Holder | Age",
  "flowcontrol.apiserver.k8s.io/v1/flowschemas":
    "Name(name) | PriorityLevel | MatchingPrecedence | DistinguisherMethod | Age | MissingPL",
  "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations":
    "Name(name) | Type | NominalConcurrencyShares | Queues | HandSize | QueueLengthLimit | Age",
  "events.k8s.io/v1/events":
    "Last Seen | Type | Reason | Object | Subobject* | Source* | Message | First Seen* | Count* | Name(name)*",
}

test.each(Object.entries(COLUMNS))("%s has the columns of Kubernetes", (name, wanted) => {
  // given
  const resource = RESOURCES.find(({ apiVersion, plural }) => `${apiVersion}/${plural}` === name)!

  // when
  const { columnDefinitions } = tableOf(resource, [], { metadata: {}, now: 0, includeObject: "None" })

  // then
  const told = columnDefinitions.map(
    ({ name, type, format, priority }) =>
      `${name}${type === "string" ? "" : `:${type}`}${format === "" ? "" : `(${format})`}${priority > 0 ? "*" : ""}`,
  )
  expect(told.join(" | ")).toBe(wanted)
})

test("the table above has all kinds that can be listed", () => {
  const listed = RESOURCES.filter(({ verbs, kind }) => verbs.includes("list") && kind !== "ComponentStatus")
  expect(listed.map(({ apiVersion, plural }) => `${apiVersion}/${plural}`).toSorted()).toEqual(
    Object.keys(COLUMNS).toSorted(),
  )
})
