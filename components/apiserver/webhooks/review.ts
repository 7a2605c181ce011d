import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"

/** The request to a webhook. */
export type Review = AdmissionReview | ConversionReview

/** What a request does to an object, as admission calls it. Source: k8s.io/api admission/v1/types.go. */
export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT"

/**
 * The request to a webhook and its response: AdmissionReview. Versions v1 and v1beta1 have the same fields; a v1
 * response is checked more strictly. Source: k8s.io/api admission/v1/types.go, webhook/request/admissionreview.go.
 */
export interface AdmissionReview {
  readonly apiVersion: ReviewVersion
  readonly kind: "AdmissionReview"
  readonly request: AdmissionRequest
}
export type ReviewVersion = "admission.k8s.io/v1" | "admission.k8s.io/v1beta1"

export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}
interface GroupVersionResource {
  readonly group: string
  readonly version: string
  readonly resource: string
}

export interface AdmissionRequest {
  readonly uid: string
  readonly kind: GroupVersionKind
  readonly resource: GroupVersionResource
  readonly subResource?: string
  readonly requestKind: GroupVersionKind
  readonly requestResource: GroupVersionResource
  readonly requestSubResource?: string
  readonly name?: string
  readonly namespace?: string
  readonly operation: Operation
  readonly userInfo: {
    readonly username: string
    readonly uid?: string
    readonly groups?: readonly string[]
    readonly extra?: Readonly<Record<string, readonly string[]>>
  }
  readonly object: unknown
  readonly oldObject: unknown
  readonly dryRun: boolean
  readonly options: unknown
}

/**
 * The request to a conversion webhook: ConversionReview. Versions v1 and v1beta1 have the same fields; a v1 response is
 * checked more strictly. Source: apiextensions-apiserver pkg/apis/apiextensions/v1/types.go.
 */
export interface ConversionReview {
  readonly apiVersion: ConversionReviewVersion
  readonly kind: "ConversionReview"
  readonly request: ConversionRequest
  /** Always empty; upstream sends it too. */
  readonly response: {
    readonly uid: ""
    readonly convertedObjects: null
    readonly result: { readonly metadata: Readonly<Record<string, never>> }
  }
}
export type ConversionReviewVersion = "apiextensions.k8s.io/v1" | "apiextensions.k8s.io/v1beta1"

export interface ConversionRequest {
  readonly uid: string
  /** The `<group>/<version>` to convert to. */
  readonly desiredAPIVersion: string
  readonly objects: readonly KubeObject[]
}
