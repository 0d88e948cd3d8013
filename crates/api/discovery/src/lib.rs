//! Discovery documents and OpenAPI, published from the resources and their schemas.
