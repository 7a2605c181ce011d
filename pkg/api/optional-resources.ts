import type { Resource } from "../apimachinery/resource.ts"
import { ClusterTrustBundle } from "./certificates/v1beta1/clustertrustbundle.ts"
import { PodCertificateRequest } from "./certificates/v1beta1/podcertificaterequest.ts"
import { LeaseCandidate } from "./coordination/v1beta1/leasecandidate.ts"
import { PodGroup } from "./scheduling/v1alpha2/podgroup.ts"
import { Workload } from "./scheduling/v1alpha2/workload.ts"
import { StorageVersionMigration } from "./storagemigration/v1beta1/storageversionmigration.ts"

/**
 * The kinds that are off by default, as in Kubernetes 1.36. `pkg/component/optional-kinds.ts` has the gates of them,
 * and is all that a server loads that serves none.
 */
export const OPTIONAL_RESOURCES: readonly Resource[] = [
  ClusterTrustBundle,
  LeaseCandidate,
  PodCertificateRequest,
  PodGroup,
  Workload,
  StorageVersionMigration,
] as unknown as readonly Resource[]
