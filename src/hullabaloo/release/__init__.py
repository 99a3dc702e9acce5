"""What leaves: the release and its privacy statement; and the order in which a fit or a question gets there."""

from hullabaloo.release.release import AS_PARSED as AS_PARSED
from hullabaloo.release.release import NO_COPY_IS_NOTICED as NO_COPY_IS_NOTICED
from hullabaloo.release.release import NOT_PRIVATE as NOT_PRIVATE
from hullabaloo.release.release import NOT_RECORDED as NOT_RECORDED
from hullabaloo.release.release import PrivacyStatement as PrivacyStatement
from hullabaloo.release.release import Release as Release
from hullabaloo.release.release import large_delta as large_delta
