import type { Resource } from "../apimachinery/resource.ts"
import { MutatingAdmissionPolicy } from "./admissionregistration/v1/mutatingadmissionpolicy.ts"
import { MutatingAdmissionPolicyBinding } from "./admissionregistration/v1/mutatingadmissionpolicybinding.ts"
import { MutatingWebhookConfiguration } from "./admissionregistration/v1/mutatingwebhookconfiguration.ts"
import { ValidatingAdmissionPolicy } from "./admissionregistration/v1/validatingadmissionpolicy.ts"
import { ValidatingAdmissionPolicyBinding } from "./admissionregistration/v1/validatingadmissionpolicybinding.ts"
import { ValidatingWebhookConfiguration } from "./admissionregistration/v1/validatingwebhookconfiguration.ts"
import { CustomResourceDefinition } from "./apiextensions/v1/customresourcedefinition.ts"
import { APIService } from "./apiregistration/v1/apiservice.ts"
import { ControllerRevision } from "./apps/v1/controllerrevision.ts"
import { DaemonSet } from "./apps/v1/daemonset.ts"
import { Deployment } from "./apps/v1/deployment.ts"
import { ReplicaSet } from "./apps/v1/replicaset.ts"
import { StatefulSet } from "./apps/v1/statefulset.ts"
import { SelfSubjectReview } from "./authentication/v1/selfsubjectreview.ts"
import { TokenRequest } from "./authentication/v1/tokenrequest.ts"
import { TokenReview } from "./authentication/v1/tokenreview.ts"
import { LocalSubjectAccessReview } from "./authorization/v1/localsubjectaccessreview.ts"
import { SelfSubjectAccessReview } from "./authorization/v1/selfsubjectaccessreview.ts"
import { SelfSubjectRulesReview } from "./authorization/v1/selfsubjectrulesreview.ts"
import { SubjectAccessReview } from "./authorization/v1/subjectaccessreview.ts"
import { HorizontalPodAutoscaler as HorizontalPodAutoscalerV1 } from "./autoscaling/v1/horizontalpodautoscaler.ts"
import { Scale } from "./autoscaling/v1/scale.ts"
import { HorizontalPodAutoscaler } from "./autoscaling/v2/horizontalpodautoscaler.ts"
import { CronJob } from "./batch/v1/cronjob.ts"
import { Job } from "./batch/v1/job.ts"
import { CertificateSigningRequest } from "./certificates/v1/certificatesigningrequest.ts"
import { Lease } from "./coordination/v1/lease.ts"
import { Binding } from "./core/v1/binding.ts"
import { ComponentStatus } from "./core/v1/componentstatus.ts"
import { ConfigMap } from "./core/v1/configmap.ts"
import { Endpoints } from "./core/v1/service/endpoints.ts"
import { Event } from "./core/v1/event/event.ts"
import { LimitRange } from "./core/v1/limitrange/limitrange.ts"
import { Namespace } from "./core/v1/namespace.ts"
import { Node } from "./core/v1/node/node.ts"
import { PersistentVolume } from "./core/v1/persistentvolume/persistentvolume.ts"
import { PersistentVolumeClaim } from "./core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Pod } from "./core/v1/pod/pod.ts"
import { PodTemplate } from "./core/v1/podtemplate/podtemplate.ts"
import { ReplicationController } from "./core/v1/replicationcontroller.ts"
import { ResourceQuota } from "./core/v1/resourcequota/resourcequota.ts"
import { Secret } from "./core/v1/secret/secret.ts"
import { Service } from "./core/v1/service/service.ts"
import { ServiceAccount } from "./core/v1/serviceaccount.ts"
import { EndpointSlice } from "./discovery/v1/endpointslice.ts"
import { Event as EventsEvent } from "./events/v1/event.ts"
import { FlowSchema } from "./flowcontrol/v1/flowschema.ts"
import { PriorityLevelConfiguration } from "./flowcontrol/v1/prioritylevelconfiguration.ts"
import { Ingress } from "./networking/v1/ingress.ts"
import { IngressClass } from "./networking/v1/ingressclass.ts"
import { IPAddress } from "./networking/v1/ipaddress.ts"
import { NetworkPolicy } from "./networking/v1/networkpolicy.ts"
import { ServiceCIDR } from "./networking/v1/servicecidr.ts"
import { RuntimeClass } from "./node/v1/runtimeclass.ts"
import { Eviction } from "./policy/v1/eviction.ts"
import { PodDisruptionBudget } from "./policy/v1/poddisruptionbudget.ts"
import { ClusterRole } from "./rbac/v1/clusterrole.ts"
import { ClusterRoleBinding } from "./rbac/v1/clusterrolebinding.ts"
import { Role } from "./rbac/v1/role.ts"
import { RoleBinding } from "./rbac/v1/rolebinding.ts"
import { DeviceClass } from "./resource/v1/deviceclass.ts"
import { ResourceClaim } from "./resource/v1/resourceclaim.ts"
import { ResourceClaimTemplate } from "./resource/v1/resourceclaimtemplate.ts"
import { ResourceSlice } from "./resource/v1/resourceslice.ts"
import { PriorityClass } from "./scheduling/v1/priorityclass.ts"
import { CSIDriver } from "./storage/v1/csidriver.ts"
import { CSINode } from "./storage/v1/csinode.ts"
import { CSIStorageCapacity } from "./storage/v1/csistoragecapacity.ts"
import { StorageClass } from "./storage/v1/storageclass.ts"
import { VolumeAttachment } from "./storage/v1/volumeattachment.ts"
import { VolumeAttributesClass } from "./storage/v1/volumeattributesclass.ts"

/**
 * Every built-in kind in discovery order, one group on each line: kubectl resolves ambiguous names by the order of
 * groups.
 */
export const RESOURCES: readonly Resource[] = [
  Binding,
  ComponentStatus,
  ConfigMap,
  Endpoints,
  Event,
  LimitRange,
  Namespace,
  Node,
  PersistentVolumeClaim,
  PersistentVolume,
  Pod,
  PodTemplate,
  ReplicationController,
  ResourceQuota,
  Secret,
  ServiceAccount,
  Service,
  APIService,
  ControllerRevision,
  DaemonSet,
  Deployment,
  ReplicaSet,
  StatefulSet,
  EventsEvent,
  SelfSubjectReview,
  TokenReview,
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerV1,
  CronJob,
  Job,
  CertificateSigningRequest,
  IngressClass,
  Ingress,
  IPAddress,
  NetworkPolicy,
  ServiceCIDR,
  PodDisruptionBudget,
  ClusterRoleBinding,
  ClusterRole,
  RoleBinding,
  Role,
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhookConfiguration,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhookConfiguration,
  CustomResourceDefinition,
  PriorityClass,
  Lease,
  RuntimeClass,
  EndpointSlice,
  DeviceClass,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
  FlowSchema,
  PriorityLevelConfiguration,
]

/** Kinds that exist only as bodies of subresources. */
export const SUBRESOURCE_KINDS: readonly Resource[] = [Scale, Eviction, TokenRequest]
