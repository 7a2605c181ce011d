import { ApiError } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import { TestClusterError } from "../caller.ts"
import { inOrderOfNeed, readManifests, resourceFor, type Manifest, type ManifestSource } from "./manifests.ts"
import { filledIn, type TestClient } from "./test-client.ts"

export interface ApplyOptions {
  /** For objects without a namespace; `default` by default. */
  readonly namespace?: string
}

const FIELD_MANAGER = "k3ts-testing"

/**
 * Applies all objects of a source by server-side apply. Returns them in the source's order. @throws TestClusterError
 * with the object that was refused
 */
export async function applyAll(
  source: ManifestSource | readonly ManifestSource[],
  client: TestClient,
  resourceOf: (apiVersion: string, kind: string) => Resource | undefined,
  { namespace }: ApplyOptions,
): Promise<readonly KubeObject[]> {
  const manifests = readManifests(source, resourceOf)
  const applied = new Map<Manifest, KubeObject>()
  // The kind is looked up here, since it may only be served once its definition was applied.
  for (const manifest of inOrderOfNeed(manifests))
    applied.set(manifest, await applyOne(manifest, client, resourceFor(manifest, resourceOf), namespace))
  return manifests.map((manifest) => applied.get(manifest)!)
}

async function applyOne(
  { object, where }: Manifest,
  client: TestClient,
  resource: Resource,
  namespace: string | undefined,
): Promise<KubeObject> {
  const body = filledIn(resource, object, namespace)
  try {
    return await client.patch(
      resource,
      body,
      { type: "apply", body },
      { fieldManager: FIELD_MANAGER, force: true, fieldValidation: "Strict" },
    )
  } catch (err) {
    throw new TestClusterError(
      `Cannot apply ${where} (${resource.kind} ${object.metadata.name}): ${errorMessage(err)}`,
      { cause: err, ...(err instanceof ApiError ? { reason: err.reason } : {}) },
    )
  }
}
