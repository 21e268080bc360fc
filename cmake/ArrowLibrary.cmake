# libthalweg_arrow: src/data/arrow, apart from libthalweg so that only programs that read tables carry Arrow.

find_package(Arrow 26.0 REQUIRED)

file(GLOB_RECURSE thalweg_arrow_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/data/arrow/*.cc")
add_library(thalweg_arrow SHARED ${thalweg_arrow_sources})
add_library(thalweg::arrow ALIAS thalweg_arrow)
target_link_libraries(thalweg_arrow PUBLIC thalweg PRIVATE "$<BUILD_INTERFACE:thalweg_private>"
                                                           "$<BUILD_INTERFACE:Arrow::dataset>")
set_target_properties(
  thalweg_arrow
  PROPERTIES EXPORT_NAME arrow
             VERSION "${PROJECT_VERSION}"
             SOVERSION "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}"
             INSTALL_RPATH "$ORIGIN")
